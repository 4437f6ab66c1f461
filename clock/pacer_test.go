package clock_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// startPacer runs a Pacer of a new clock until stop is called, within a synctest bubble.
func startPacer(t *testing.T, ledger *clock.Ledger, speed float64) (p *clock.Pacer, v *clock.Virtual, stop func()) {
	t.Helper()
	v = clock.NewVirtual(epoch, ledger)
	p = clock.NewPacer(v, speed)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	return p, v, func() {
		cancel()
		<-done
		v.Close()
	}
}

// wantNear compares the clock with a time that it may miss by one tick of the Pacer.
func wantNear(t *testing.T, v *clock.Virtual, want, tick time.Duration) {
	t.Helper()
	synctest.Wait()
	if got := v.Since(epoch); got < want-tick || got > want {
		t.Fatalf("the clock is %v after its start, want %v or up to %v less", got, want, tick)
	}
}

func TestPacerFollowsTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v, stop := startPacer(t, nil, 1)
		defer stop()
		time.Sleep(time.Second)
		wantNear(t, v, time.Second, 20*time.Millisecond)
		if err := p.SetSpeed(60); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		wantNear(t, v, 61*time.Second, 2*time.Second)
	})
}

func TestPacerPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v, stop := startPacer(t, nil, 10)
		defer stop()
		p.Pause()
		synctest.Wait()
		before := v.Now()
		time.Sleep(time.Hour)
		if v.Now() != before {
			t.Fatalf("the paused clock moved by %v", v.Since(before))
		}
		if err := p.Advance(t.Context(), 90*time.Minute); err != nil || v.Since(before) != 90*time.Minute {
			t.Fatalf("Advance moved the paused clock by %v, error %v; want 1h30m", v.Since(before), err)
		}
		p.Resume()
		time.Sleep(time.Second)
		wantNear(t, v, before.Sub(epoch)+90*time.Minute+10*time.Second, time.Second)
	})
}

func TestPacerSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v, stop := startPacer(t, nil, 1)
		defer stop()
		p.Pause()
		synctest.Wait()
		before := v.Now()
		if err := p.Step(t.Context()); !errors.Is(err, clock.ErrNoTimer) {
			t.Fatalf("Step without a timer: %v, want %v", err, clock.ErrNoTimer)
		}
		fired := 0
		v.AfterFunc(time.Minute, func() {
			fired++
			v.AfterFunc(time.Second, func() { fired++ })
		})
		for step, want := range []time.Duration{time.Minute, time.Minute + time.Second} {
			if err := p.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if fired != step+1 || v.Since(before) != want {
				t.Fatalf("step %d: %d timers fired after %v, want %d after %v", step, fired, v.Since(before), step+1, want)
			}
		}
	})
}

// While the work is paused, a step takes a piece of it, or moves the clock to the next timer if none
// waits; Advance does all work, and Resume lets it go on.
func TestPacerStepsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := clock.NewLedger()
		p, v, stop := startPacer(t, ledger, 1)
		defer stop()
		queue := inflight.NewQueue(inflight.QueueOptions[string]{Ledger: ledger})
		var did []string
		ran := make(chan struct{})
		go func() {
			defer close(ran)
			queue.Run(t.Context(), 3, func(_ context.Context, key string) { did = append(did, key) })
		}()
		defer func() {
			queue.Close()
			<-ran
		}()
		p.PauseWork()
		synctest.Wait()
		before := v.Now()
		queue.Add("a")
		queue.Add("b")
		v.AfterFunc(time.Minute, func() { queue.Add("timer") })
		step := func(want int, passed time.Duration) {
			t.Helper()
			if err := p.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if len(did) != want || v.Since(before) != passed {
				t.Fatalf("%v are done after %v, want %d after %v", did, v.Since(before), want, passed)
			}
		}
		synctest.Wait()
		if len(did) > 0 {
			t.Fatalf("without a step, %v are done", did)
		}
		step(1, 0)
		step(2, 0)
		step(2, time.Minute)
		step(3, time.Minute)
		queue.Add("c")
		v.AfterFunc(time.Second, func() { queue.Add("d") })
		if err := p.Advance(t.Context(), time.Minute); err != nil || len(did) != 5 {
			t.Fatalf("after Advance, %v are done, error %v", did, err)
		}
		queue.Add("e")
		synctest.Wait()
		if len(did) != 5 {
			t.Fatalf("after Advance, work does not wait: %v", did)
		}
		p.Resume()
		synctest.Wait()
		if len(did) != 6 {
			t.Fatalf("after Resume, %v are done", did)
		}
	})
}

// Work in flight holds the time at every speed. The Pacer does not make up for what it missed,
// and can be paused meanwhile.
func TestPacerWaitsForWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := clock.NewLedger()
		p, v, stop := startPacer(t, ledger, 1000)
		defer stop()
		synctest.Wait()
		work := inflight.Begin(ledger, clock.Request)
		before := v.Now()
		time.Sleep(time.Hour)
		if v.Now() != before {
			t.Fatalf("the clock moved by %v while work was in flight", v.Since(before))
		}
		p.Pause()
		synctest.Wait()
		work.End()
		time.Sleep(time.Second)
		if v.Now() != before {
			t.Fatalf("the paused clock moved by %v", v.Since(before))
		}
		p.Resume()
		time.Sleep(time.Second)
		wantNear(t, v, before.Sub(epoch)+1000*time.Second, 60*time.Second)
	})
}

func TestPacerEndsWithItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := clock.NewVirtual(epoch, nil)
		p := clock.NewPacer(v, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.Run(t.Context())
		}()
		v.Close()
		<-done
	})
}

func TestPacerSpeeds(t *testing.T) {
	v := clock.NewVirtual(epoch, nil)
	defer v.Close()
	p := clock.NewPacer(v, 1)
	for _, speed := range []float64{0, -1, math.NaN(), math.Inf(1), clock.MaxSpeed * 2} {
		if err := p.SetSpeed(speed); err == nil {
			t.Errorf("SetSpeed(%v) succeeded", speed)
		}
	}
	p.Pause()
	if err := p.SetSpeed(0.5); err != nil {
		t.Fatal(err)
	}
	if pace, _ := p.Pace(); pace != (clock.Pace{Speed: 0.5, Paused: true}) {
		t.Errorf("the pace is %+v, want half the speed, paused", pace)
	}
}
