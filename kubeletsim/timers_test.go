package kubeletsim

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// However many timers are set, moved and taken back, each fires once, in order and
// not before its time.
func TestTimersFireInTime(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		clk := clock.NewVirtual(podtest.Epoch, nil)
		defer clk.Close()
		due := map[key]time.Time{}
		timers := inflight.NewAlarms(clk, func(k key) {
			at, ok := due[k]
			if !ok || at.After(clk.Now()) {
				t.Fatalf("%v fired at %v, due at %v", k, clk.Now(), at)
			}
			delete(due, k)
		})
		defer timers.Close()
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			k := podKey(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"))
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				delete(due, k)
				timers.Set(k, time.Time{})
			case 1:
				if err := clk.Advance(ctx, time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds"))*time.Second); err != nil {
					t.Fatal(err)
				}
				for k, at := range due {
					if !at.After(clk.Now()) {
						t.Fatalf("%v did not fire at %v", k, at)
					}
				}
			default:
				at := clk.Now().Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "in")) * time.Second)
				due[k] = at
				timers.Set(k, at)
			}
		}
	})
}
