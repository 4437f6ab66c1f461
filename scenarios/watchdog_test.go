package scenarios

import (
	"context"
	"errors"
	"strings"
	"testing"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/minikcmtest"
)

func TestStandstill(t *testing.T) {
	type sample struct {
		idle        bool
		changes     uint64
		interrupted bool
	}
	still, stillInterrupted := sample{changes: 7}, sample{changes: 7, interrupted: true}
	repeat := func(s sample, n int) (all []sample) {
		for range n {
			all = append(all, s)
		}
		return all
	}
	for name, test := range map[string]struct {
		samples []sample
		want    string // a letter for each verdict: -, w(arn), a(bandon)
	}{
		"work goes on":          {[]sample{{changes: 1}, {changes: 2}, {changes: 3}, {changes: 4}}, "----"},
		"nothing is in flight":  {repeat(sample{idle: true, changes: 1}, 20), strings.Repeat("-", 20)},
		"stands still":          {repeat(still, 13), "--w---------a"},
		"goes on after a while": {append(repeat(still, 3), sample{changes: 8}, sample{changes: 8}, sample{changes: 8}), "--w--w"},
		"interrupted":           {repeat(stillInterrupted, 3), "--a"},
		"interrupted later":     {append(repeat(still, 5), stillInterrupted), "--w--a"},
	} {
		t.Run(name, func(t *testing.T) {
			var s standstill
			got := ""
			for _, sample := range test.samples {
				got += string("-wa"[s.sample(sample.idle, sample.changes, sample.interrupted)])
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A run that is stuck ends, and its result names what is in flight.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime())
		w := &world{}
		if err := w.use(cluster.Cluster); err != nil {
			t.Fatal(err)
		}
		progress := &transcript{}
		s := &Scenario{Metadata: spec.Metadata{Name: "stuck"}}
		r := &run{world: w, scenario: s, opts: Options{Progress: progress}, machine: clock.Scaled(1000), begun: w.clock.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		release, ended := make(chan struct{}), make(chan struct{})
		failure := r.drive(ctx, func(context.Context, *branch) error {
			defer close(ended)
			r.stepped(StepResult{Title: "the step before"})
			defer inflight.Begin(w.ledger, inflight.Key).End()
			if interrupted {
				cancel()
			}
			<-release
			return nil
		})
		result := r.result(ctx, failure)
		close(release)
		<-ended
		cancel()
		var stalled *StalledError
		if !errors.As(result.Failure, &stalled) || !strings.HasPrefix(stalled.InFlight, "1 queued keys, 1 kubelet actions") || stalled.Interrupted != interrupted || result.Interrupted != interrupted {
			t.Errorf("interrupted %v: got %v", interrupted, result.Failure)
		}
		if !interrupted && !strings.Contains(progress.String(), "stalled for 10s: 1 queued keys, 1 kubelet actions") {
			t.Errorf("no warning:\n%s", progress)
		}
		if len(result.Steps) != 1 {
			t.Errorf("%d steps are in the result, want 1", len(result.Steps))
		}
	}
}

// An audience may read for longer than a run may stand still.
func TestWatchdogWaitsForAudience(t *testing.T) {
	t.Parallel()
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))
	w := &world{}
	if err := w.use(cluster.Cluster); err != nil {
		t.Fatal(err)
	}
	machine := clock.Scaled(1000)
	r := &run{world: w, scenario: &Scenario{}, machine: machine, begun: w.clock.Now()}
	r.opts.Present = func(ctx context.Context, _ string) error {
		return clock.Sleep(ctx, machine, 2*abandonAfter*watchInterval)
	}
	err := r.drive(t.Context(), func(ctx context.Context, b *branch) error { return b.present(ctx, &spec.Step{Say: "once"}) })
	if err != nil {
		t.Error(err)
	}
}
