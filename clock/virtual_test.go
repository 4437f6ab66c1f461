package clock_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

var epoch = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func advance(t *testing.T, v *clock.Virtual, d time.Duration) {
	t.Helper()
	if err := v.Advance(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func wantNow(t *testing.T, v *clock.Virtual, want time.Duration) {
	t.Helper()
	if got := v.Now().Sub(epoch); got != want {
		t.Fatalf("clock is %v after its start, want %v", got, want)
	}
}

func TestAdvanceEndsExactly(t *testing.T) {
	v := clock.NewVirtual(epoch, nil)
	defer v.Close()
	var fired []time.Duration
	var again func()
	again = func() {
		fired = append(fired, v.Since(epoch))
		v.AfterFunc(2*time.Second, again)
	}
	v.AfterFunc(2*time.Second, again)
	advance(t, v, 7*time.Second)
	wantNow(t, v, 7*time.Second)
	if len(fired) != 3 || fired[2] != 6*time.Second {
		t.Errorf("fired at %v, want 2s 4s 6s", fired)
	}
	advance(t, v, 0)
	wantNow(t, v, 7*time.Second)
	advance(t, v, time.Second) // a timer due at the very end fires
	if len(fired) != 4 {
		t.Errorf("fired at %v, want one more at 8s", fired)
	}
	if err := v.Advance(t.Context(), -1); err == nil {
		t.Error("advanced by a negative time")
	}
}

func TestBegin(t *testing.T) {
	ledger := clock.NewLedger()
	end := clock.Begin(ledger)
	if ledger.Idle() {
		t.Error("the ledger is idle while work is in flight")
	}
	end()
	end()
	if !ledger.Idle() {
		t.Errorf("after its end, the work is in flight: %s", ledger)
	}
	clock.Begin(nil)() // a nil ledger counts nothing
}

func TestTimeStandsStillWhileInFlight(t *testing.T) {
	for kind := clock.Request; kind <= clock.Tick; kind++ {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ledger := clock.NewLedger()
				v := clock.NewVirtual(epoch, ledger)
				defer v.Close()
				fired := make(chan struct{})
				v.AfterFunc(time.Minute, func() { close(fired) })
				work := inflight.Begin(ledger, kind)
				result := make(chan error)
				go func() { result <- v.Wait(t.Context(), fired) }()
				synctest.Wait()
				wantNow(t, v, 0)
				work.End()
				if err := <-result; err != nil {
					t.Fatal(err)
				}
				wantNow(t, v, time.Minute)
			})
		})
	}
}

func TestNothingMovesUnlessSomebodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := clock.NewVirtual(epoch, nil)
		defer v.Close()
		v.AfterFunc(time.Second, func() { t.Error("fired") })
		time.Sleep(time.Hour) // the bubble's own time
		wantNow(t, v, 0)
	})
}

func TestWaitEnds(t *testing.T) {
	t.Run("deadlock", func(t *testing.T) {
		v := clock.NewVirtual(epoch, nil)
		defer v.Close()
		v.AfterFunc(time.Second, func() {})
		err := v.Wait(t.Context(), make(chan struct{}))
		if !errors.Is(err, clock.ErrDeadlock) {
			t.Errorf("got %v, want ErrDeadlock", err)
		}
		wantNow(t, v, time.Second)
	})
	t.Run("done before", func(t *testing.T) {
		v := clock.NewVirtual(epoch, nil)
		defer v.Close()
		v.AfterFunc(time.Second, func() { t.Error("fired") })
		done := make(chan struct{})
		close(done)
		if err := v.Wait(t.Context(), done); err != nil {
			t.Error(err)
		}
	})
	t.Run("context", func(t *testing.T) {
		ledger := clock.NewLedger()
		v := clock.NewVirtual(epoch, ledger)
		defer v.Close()
		inflight.Begin(ledger, clock.Key)
		inflight.Begin(ledger, clock.Key)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := v.Wait(ctx, make(chan struct{}))
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "2 queued keys") {
			t.Errorf("got %v, want the context's error and what is in flight", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ledger := clock.NewLedger()
			v := clock.NewVirtual(epoch, ledger)
			inflight.Begin(ledger, clock.Request)
			result := make(chan error, 3)
			go func() { result <- v.Wait(t.Context(), make(chan struct{})) }()
			go func() { result <- v.Advance(t.Context(), time.Second) }()
			go func() { v.Sleep(time.Second); result <- clock.ErrClosed }()
			synctest.Wait()
			v.Close()
			v.Close()
			for range 3 {
				if err := <-result; !errors.Is(err, clock.ErrClosed) {
					t.Errorf("got %v, want ErrClosed", err)
				}
			}
			v.AfterFunc(0, func() { t.Error("fired after Close") })
		})
	})
}

// The end of an Advance holds back other calls that move the time.
func TestManyMovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := clock.NewVirtual(epoch, nil)
		defer v.Close()
		done := make(chan struct{})
		tick := v.NewTicker(700 * time.Millisecond)
		defer tick.Stop()
		go func() {
			for {
				select {
				case <-tick.C():
				case <-done:
					return
				}
			}
		}()
		results := make(chan time.Duration)
		for i := range 5 {
			go func() {
				advance(t, v, time.Duration(i+1)*time.Second)
				results <- v.Since(epoch)
			}()
		}
		go func() {
			if err := v.Wait(t.Context(), done); err != nil {
				t.Error(err)
			}
		}()
		for range 5 {
			<-results
		}
		if got := v.Since(epoch); got < 5*time.Second {
			t.Errorf("after all Advances the time is %v", got)
		}
		close(done)
	})
}

func TestTimersLikePackageTime(t *testing.T) {
	tests := []struct {
		name string
		do   func(t *testing.T, v *clock.Virtual)
	}{
		{"stop before due", func(t *testing.T, v *clock.Virtual) {
			timer := v.AfterFunc(time.Second, func() { t.Error("fired") })
			if !timer.Stop() || timer.Stop() {
				t.Error("Stop: want true, then false")
			}
			advance(t, v, time.Minute)
		}},
		{"stop after fired", func(t *testing.T, v *clock.Virtual) {
			timer := v.AfterFunc(time.Second, func() {})
			advance(t, v, time.Second)
			if timer.Stop() {
				t.Error("Stop of a timer that fired: want false")
			}
			if timer.C() != nil {
				t.Error("AfterFunc's timer has a channel")
			}
		}},
		{"stop of an unreceived value", func(t *testing.T, v *clock.Virtual) {
			timer := v.NewTimer(0)
			if !timer.Stop() {
				t.Error("Stop before the receipt: want true")
			}
			select {
			case <-timer.C():
				t.Error("received after Stop")
			default:
			}
			advance(t, v, time.Minute)
		}},
		{"stop of a received value", func(t *testing.T, v *clock.Virtual) {
			timer := v.NewTimer(-time.Second)
			if got := <-timer.C(); !got.Equal(epoch) {
				t.Errorf("received %v", got)
			}
			if timer.Stop() {
				t.Error("Stop after the receipt: want false")
			}
		}},
		{"reset a pending timer", func(t *testing.T, v *clock.Virtual) {
			var at time.Duration
			timer := v.AfterFunc(time.Second, func() { at = v.Since(epoch) })
			if !timer.Reset(3 * time.Second) {
				t.Error("Reset of a pending timer: want true")
			}
			advance(t, v, time.Minute)
			if at != 3*time.Second {
				t.Errorf("fired at %v, want 3s", at)
			}
			if timer.Reset(time.Second) {
				t.Error("Reset of a fired timer: want false")
			}
			advance(t, v, time.Minute)
			if at != time.Minute+time.Second {
				t.Errorf("fired again at %v, want 1m1s", at)
			}
		}},
		{"stop one of the same instant", func(t *testing.T, v *clock.Virtual) {
			var second interface{ Stop() bool }
			v.AfterFunc(time.Second, func() {
				if !second.Stop() {
					t.Error("Stop of a timer that has not had its turn: want true")
				}
			})
			second = v.AfterFunc(time.Second, func() { t.Error("fired") })
			advance(t, v, time.Minute)
		}},
		{"no time at all", func(t *testing.T, v *clock.Virtual) {
			done := make(chan struct{})
			v.AfterFunc(0, func() { close(done) })
			<-done
			v.Sleep(0)
			<-v.After(0)
		}},
		{"no time at all, awaited by what is in flight", func(t *testing.T, v *clock.Virtual) {
			var order []string
			v.AfterFunc(time.Second, func() {
				inner := make(chan struct{})
				v.AfterFunc(0, func() { order = append(order, "third"); close(inner) })
				order = append(order, "first")
			})
			v.AfterFunc(time.Second, func() { order = append(order, "second"); <-v.After(0) })
			advance(t, v, time.Second)
			if got := strings.Join(order, " "); got != "first second third" {
				t.Errorf("order: %s", got)
			}
		}},
		{"nil and panicking tickers", func(t *testing.T, v *clock.Virtual) {
			if v.Tick(0) != nil {
				t.Error("Tick(0) is not nil")
			}
			defer func() {
				if recover() == nil {
					t.Error("NewTicker(0) did not panic")
				}
			}()
			v.NewTicker(0)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := clock.NewVirtual(epoch, nil)
			defer v.Close()
			tt.do(t, v)
		})
	}
}

func TestTickerDropsNothing(t *testing.T) {
	v := clock.NewVirtual(epoch, nil)
	defer v.Close()
	ticker := v.NewTicker(time.Second)
	received := make(chan []time.Duration)
	go func() {
		var got []time.Duration
		for range 1000 {
			got = append(got, (<-ticker.C()).Sub(epoch))
		}
		ticker.Stop()
		received <- got
	}()
	advance(t, v, 1000*time.Second)
	for i, at := range <-received {
		if at != time.Duration(i+1)*time.Second {
			t.Fatalf("tick %d came at %v", i, at)
		}
	}
	if err := v.Wait(t.Context(), make(chan struct{})); !errors.Is(err, clock.ErrDeadlock) {
		t.Errorf("after the ticker's Stop: got %v, want ErrDeadlock", err)
	}
}

// A function that ends its goroutine, as a failing test does, does not stop time.
func TestGoexitInCallback(t *testing.T) {
	v := clock.NewVirtual(epoch, nil)
	defer v.Close()
	v.AfterFunc(time.Second, runtime.Goexit)
	fired := false
	v.AfterFunc(time.Second, func() { fired = true })
	advance(t, v, time.Second)
	if !fired {
		t.Error("the next timer did not fire")
	}
}

// A timer with d <= 0 fires at once, before others that have to wait.
func TestNoTimeAtAllPassesOthersBy(t *testing.T) {
	ledger := clock.NewLedger()
	v := clock.NewVirtual(epoch, ledger)
	defer v.Close()
	var order []string
	v.AfterFunc(time.Second, func() {
		work := inflight.Begin(ledger, clock.Action)
		go func() {
			defer work.End()
			due := make(chan struct{})
			v.AfterFunc(0, func() { close(due) })
			<-due
			order = append(order, "first")
		}()
	})
	v.AfterFunc(time.Second, func() { order = append(order, "second") })
	advance(t, v, time.Second)
	if got := strings.Join(order, " "); got != "first second" {
		t.Errorf("order: %s", got)
	}
}
