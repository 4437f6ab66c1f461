package main

import (
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/clockapi"
)

// The clock of a running cluster is controlled by commands, each of which prints its state.
func TestClockOfARunningCluster(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, _ := launchUp(t, home, "--clock", "virtual")
	do := func(args ...string) string {
		t.Helper()
		p := launch(t, home, "run", append([]string{"clock"}, args...)...)
		code, text := p.end()
		if code != 0 {
			t.Fatalf("minikcm clock %s ends with %d: %s", strings.Join(args, " "), code, p.stderr.String())
		}
		return text
	}
	timeOf := func(text string) time.Time {
		t.Helper()
		_, rest, _ := strings.Cut(strings.TrimSpace(text), ", ")
		stamp, _, _ := strings.Cut(rest, ", ")
		now, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return now
	}
	if text := do(); !strings.HasPrefix(text, "virtual=1, ") || clock.Real().Now().Sub(timeOf(text)).Abs() > time.Hour {
		t.Errorf("at the start it is %q", text)
	}
	paused := do("pause")
	if !strings.HasPrefix(paused, "virtual=1 (paused), ") {
		t.Errorf("paused, it is %q", paused)
	}
	if advanced := do("advance", "1h"); timeOf(advanced) != timeOf(paused).Add(time.Hour) {
		t.Errorf("an hour after %q it is %q", paused, advanced)
	}
	do("step")
	if text := do("speed", "50"); !strings.HasPrefix(text, "virtual=50 (paused), ") {
		t.Errorf("with another speed it is %q", text)
	}
	if text := do("resume"); !strings.HasPrefix(text, "virtual=50, ") {
		t.Errorf("resumed, it is %q", text)
	}
	up.stop()

	other, _ := launchUp(t, home)
	p := launch(t, home, "run", "clock", "pause")
	if code, text := p.end(); code != 1 || text != "" || !strings.Contains(p.stderr.String(), "the cluster's clock is real and cannot be controlled: start the cluster with --clock=virtual") {
		t.Errorf("pausing a real clock ends with %d: %s%s", code, text, p.stderr.String())
	}
	other.stop()
}

func TestClockText(t *testing.T) {
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	next := now.Add(1500 * time.Millisecond)
	for want, state := range map[string]clockapi.State{
		"real, 2026-01-05T00:00:00Z": {ClockInfo: minikcm.ClockInfo{Mode: clock.ModeReal, Now: now}},
		"virtual=0.5 (paused), 2026-01-05T00:00:00Z, next timer in 1.5s, in flight: 2 requests": {
			ClockInfo: minikcm.ClockInfo{Mode: clock.ModeVirtual, Factor: 0.5, Paused: true, Now: now}, NextTimer: &next, InFlight: "2 requests",
		},
	} {
		if got := clockText(&state); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
