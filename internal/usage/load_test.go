package usage

import (
	"strings"
	"testing"
	"time"
)

func TestLoadsAreSmall(t *testing.T) {
	for _, text := range []string{"1e-99999999", "ramp 0 1e99999999 1m", strings.Repeat("1", 100)} {
		if _, err := ParseLoad(text); err == nil {
			t.Errorf("%.30s is a load", text)
		}
	}
}

func TestLoads(t *testing.T) {
	since := time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC)
	tests := []struct {
		text  string
		after time.Duration
		want  float64
	}{
		{"250m", 0, 0.25},
		{"64Mi", time.Hour, 64 << 20},
		{"ramp 100m 900m 10m", -time.Minute, 0.1},
		{"ramp 100m 900m 10m", 0, 0.1},
		{"ramp 100m 900m 10m", 5 * time.Minute, 0.5},
		{"ramp 100m 900m 10m", time.Hour, 0.9},
		{"ramp 900m 100m 10m", 5 * time.Minute, 0.5},
		{"steps 1 5m 4 2m 2", 0, 1},
		{"steps 1 5m 4 2m 2", 5 * time.Minute, 4},
		{"steps 1 5m 4 2m 2", 7 * time.Minute, 2},
		{"sine 1 3 24h", -6 * time.Hour, 1},
		{"sine 1 3 24h", 0, 2},
		{"sine 1 3 24h", 6 * time.Hour, 3},
		{"cycle 1 50m 5 10m", 0, 1},
		{"cycle 1 50m 5 10m", 55 * time.Minute, 5},
		{"cycle 1 50m 5 10m", 61 * time.Minute, 1},
		{"100m + ramp 0 1 10m + 200m", 5 * time.Minute, 0.8},
	}
	for _, tt := range tests {
		load, err := ParseLoad(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := load.sample(since.Add(tt.after), since, 1); got < tt.want-1e-9 || got > tt.want+1e-9 {
			t.Errorf("%s after %v: %v, want %v", tt.text, tt.after, got, tt.want)
		}
	}
}

func TestBadLoads(t *testing.T) {
	for _, text := range []string{
		"", "much", "ramp", "ramp 1 2", "ramp 1 2 0s", "ramp 1 2 -5m", "ramp a 2 5m", "ramp 1 b 5m", "sine 1 2 day", "steps 1", "steps 1 5m", "steps 1 x 2",
		"cycle 1 5m 2", "cycle", "1 +", "+ 1", "1 2", "100m noise", "100m noise 10", "100m noise 101%", "100m noise -1%", "100m noise NaN%", "noise 10%", "never",
	} {
		if _, err := ParseLoad(text); err == nil || !strings.Contains(err.Error(), "not ") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// TestNoise: the noise is the seed's, differs from key to key and from sample to sample,
// stays within its share, and is not on one side.
func TestNoise(t *testing.T) {
	load, err := ParseLoad("100 noise 10%")
	if err != nil {
		t.Fatal(err)
	}
	since := time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC)
	total, seen := 0.0, map[float64]bool{}
	const n = 1000
	for i := range n {
		at := since.Add(time.Duration(i) * Window)
		got := load.sample(at, since, 1, "pod", "web")
		if got < 90 || got > 110 {
			t.Fatalf("a sample of 100 with 10%% noise is %v", got)
		}
		if load.sample(at, since, 1, "pod", "web") != got {
			t.Fatal("the same seed gives another sample")
		}
		if load.sample(at, since, 2, "pod", "web") == got || load.sample(at, since, 1, "pod", "db") == got {
			t.Fatal("another seed or key gives the same sample")
		}
		total += got
		seen[got] = true
	}
	if mean := total / n; mean < 99 || mean > 101 || len(seen) < n*9/10 {
		t.Errorf("the mean of %d samples of 100 is %v; %d differ", n, mean, len(seen))
	}
}

func FuzzParseLoad(f *testing.F) {
	for _, text := range []string{"250m", "ramp 100m 900m 10m", "steps 1 5m 4 2m 2 noise 5%", "sine 1 3 24h + cycle 1 50m 5 10m", "1Gi", "noise 5%", "+"} {
		f.Add(text)
	}
	at := time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		load, err := ParseLoad(text)
		if err != nil {
			return
		}
		for _, after := range []time.Duration{-time.Hour, 0, time.Second, 240 * time.Hour} {
			if got := round(load.sample(at.Add(after), at, 1)); got < -1<<62 || got > 1<<62 {
				t.Errorf("%q is %d", text, got)
			}
		}
	})
}
