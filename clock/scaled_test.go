package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	utilclock "k8s.io/utils/clock"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/clock"
)

// In a bubble of synctest, the machine's time is the bubble's: the tests below see
// exactly when the machine's timers fire.

func TestScaledRunsFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := time.Now()
		c := clock.Scaled(60)
		start := c.Now()
		c.Sleep(time.Hour)
		if got := c.Since(start); got < time.Hour || got > time.Hour+time.Second {
			t.Errorf("an hour's sleep took %v of the cluster's time", got)
		}
		if got := time.Since(machine); got != time.Minute {
			t.Errorf("an hour's sleep took %v of the machine's time, want a minute", got)
		}
	})
}

// No timer fires before the clock has reached its due time, whatever the factor.
func TestScaledNeverEarly(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		factor := rapid.Float64Range(0.01, 1000).Draw(r, "factor")
		d := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(r, "d"))
		synctest.Test(t, func(t *testing.T) {
			c := clock.Scaled(factor)
			start := c.Now()
			fired := make(chan time.Duration)
			c.AfterFunc(d, func() { fired <- c.Since(start) })
			if got := <-fired; got < d {
				t.Errorf("at factor %v, fired after %v, want %v", factor, got, d)
			}
			<-c.After(d)
			if got := c.Since(start); got < 2*d {
				t.Errorf("at factor %v, After's value came after %v, want %v", factor, got, 2*d)
			}
		})
	})
}

func TestScaledTimers(t *testing.T) {
	// The value, and whether there is one, after the machine has gone on by a second.
	received := func(c <-chan time.Time) bool {
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	for name, test := range map[string]func(t *testing.T, c clock.Clock){
		"stop": func(t *testing.T, c clock.Clock) {
			timer := c.NewTimer(time.Second)
			if !timer.Stop() {
				t.Error("Stop did not stop it")
			}
			if timer.Stop() {
				t.Error("Stop stopped it twice")
			}
			if received(timer.C()) {
				t.Error("fired after Stop")
			}
		},
		"reset": func(t *testing.T, c clock.Clock) {
			timer := c.NewTimer(time.Hour)
			if !timer.Reset(time.Second) {
				t.Error("Reset found it stopped")
			}
			if !received(timer.C()) {
				t.Error("did not fire after Reset")
			}
			if timer.Reset(time.Second) {
				t.Error("Reset found it running after it had fired")
			}
			if !received(timer.C()) {
				t.Error("did not fire a second time")
			}
		},
		"a value that was not received": func(t *testing.T, c clock.Clock) {
			timer := c.NewTimer(0)
			time.Sleep(time.Second)
			if !timer.Stop() {
				t.Error("Stop left the value")
			}
			if received(timer.C()) {
				t.Error("received after Stop")
			}
		},
		"ticker drops what a slow receiver misses": func(t *testing.T, c clock.Clock) {
			ticker := c.NewTicker(time.Second)
			if !received(ticker.C()) {
				t.Error("did not tick")
			}
			select {
			case <-ticker.C():
				t.Error("ticked twice at once")
			default:
			}
			if !received(ticker.C()) {
				t.Error("did not tick again")
			}
			ticker.Stop()
			if received(ticker.C()) {
				t.Error("ticked after Stop")
			}
		},
		"tick of no time": func(t *testing.T, c clock.Clock) {
			if c.Tick(0) != nil {
				t.Error("Tick(0) has a channel")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, clock.Scaled(10)) })
		})
	}
}

func TestScaledRefusesFactors(t *testing.T) {
	for _, factor := range []float64{0, -1, 1 / zero, -1 / zero, zero / zero} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("accepted the factor %v", factor)
				}
			}()
			clock.Scaled(factor)
		}()
	}
}

// zero is a variable, so that dividing by it is not the compiler's business.
var zero float64

var _ utilclock.WithTickerAndDelayedExecution = clock.Scaled(1)

// A clock that follows one in another process begins where that is.
func TestScaledFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)
		c := clock.ScaledFrom(now, 60)
		time.Sleep(time.Minute)
		if got := c.Now(); !got.Equal(now.Add(time.Hour)) {
			t.Errorf("after a minute of the machine's it shows %v", got)
		}
	})
}
