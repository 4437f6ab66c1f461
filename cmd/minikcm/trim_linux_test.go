package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

func TestReadOnlyMapping(t *testing.T) {
	const file = "/opt/my programs/minikcm"
	for line, want := range map[string]bool{
		"00400000-03b75000 r-xp 00000000 fe:00 10257591                           " + file:                  true,
		"03b75000-07f12000 r--p 03775000 fe:00 10257591                           " + file:                  true,
		"07f12000-0807b000 rw-p 07b12000 fe:00 10257591                           " + file:                  false,
		"7ff484200000-7ff6c4200000 r--s 00000000 fe:00 10070313                   /tmp/etcd/member/snap/db": false,
		"7ff70b1d5000-7ff70b1d7000 r-xp 00000000 00:00 0                          [vdso]":                   false,
		"139b05c00000-139b0a400000 rw-p 00000000 00:00 0 ":                                                  false,
		"00400000 r-xp 00000000 fe:00 10257591                           " + file:                           false,
		"": false,
	} {
		start, end, ok := readOnlyMapping(line, file)
		if ok != want || ok && (start == 0 || end <= start) {
			t.Errorf("%q: %x to %x, %v, want %v", line, start, end, ok, want)
		}
	}
}

// TestUnmapProgram checks that the program goes on with less of its file in memory.
func TestUnmapProgram(t *testing.T) {
	before := residentFile(t)
	if before < 1024 {
		t.Skip("the program lies in memory, as on tmpfs: it has no pages of a file")
	}
	unmapProgram()
	if after := residentFile(t); after > before/2 {
		t.Errorf("%d kB of files are resident, %d kB before", after, before)
	}
}

// residentFile returns RssFile in /proc/self/status, in kB.
func residentFile(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`RssFile:\s*(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Skip("this kernel does not count the resident pages of files")
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
