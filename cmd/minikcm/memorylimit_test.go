package main

import "testing"

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]uint64{
		"max\n": 0, "": 0, "2147483648\n": 2 << 30, "9223372036854771712\n": 0,
		"MemTotal:       24689764 kB\nMemFree:        123 kB\n": 24689764 << 10,
	} {
		if got := parseMemory(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestMemoryLimitFlag(t *testing.T) {
	for _, text := range []string{"x", "-1", "0", "100Mi", "1e99999"} {
		if limit, err := limitMemory(text); err == nil {
			t.Errorf("--memory-limit %s is %d", text, limit)
		}
	}
}
