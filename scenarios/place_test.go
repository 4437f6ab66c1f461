package scenarios

import (
	"testing"
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// The run record names a clock that a replay can have.
func TestClockOfRecord(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		info *minikcm.Info
		want string
	}{
		"no minikcm": {nil, "real"},
		"real":       {&minikcm.Info{Clock: minikcm.ClockInfo{Mode: clock.ModeReal}}, "real"},
		"scaled":     {&minikcm.Info{Clock: minikcm.ClockInfo{Mode: clock.ModeScaled, Factor: 60, Now: now}}, "scaled=60"},
		"paced":      {&minikcm.Info{Clock: minikcm.ClockInfo{Mode: clock.ModeVirtual, Factor: 2.5, Now: now}}, "scaled=2.5"},
		"not paced":  {&minikcm.Info{Clock: minikcm.ClockInfo{Mode: clock.ModeVirtual, Now: now}}, "real"},
	} {
		_, text := (&reached{info: test.info}).clock()
		if text != test.want {
			t.Errorf("%s: the clock is %s, want %s", name, text, test.want)
		}
		if _, _, err := clock.ParseMode(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
