package scenarios

import (
	"context"
	"errors"
	"fmt"

	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// trafficPossible refuses traffic in a cluster that is not the scenario's own.
func trafficPossible(_ *spec.Traffic, place Place) (field string, err error) {
	if place != OwnCluster {
		return "", errTrafficElsewhere
	}
	return "", nil
}

var errTrafficElsewhere = errors.New("traffic is only computed in a cluster of the scenario's own")

// traffic begins to send requests.
func (b *branch) traffic(ctx context.Context, t *spec.Traffic) error {
	if err := b.Yield(ctx); err != nil { // what the steps before have done is delivered first
		return err
	}
	r := b.run
	return r.sending.Begin(ctx, r.cluster, r.begun, t, r.kinds.Namespace, func(err error) {
		r.cancel(err)
		r.raiseAll()
	})
}

// endTraffic ends all routes, reports what became of them, and returns an error for the objectives that were not met.
func (r *run) endTraffic() error {
	var errs []error
	for _, t := range r.sending.End() {
		r.recorder.Traffic(t)
		for _, line := range report.TrafficLines(&t) {
			r.report(func(p Progress) { p.BackgroundNote("traffic", line) })
		}
		for _, o := range t.Objectives {
			errs = append(errs, r.judged(&t, o))
		}
	}
	return errors.Join(errs...)
}

// judged records whether an objective was met.
func (r *run) judged(t *runrecord.Traffic, o runrecord.Objective) error {
	title := fmt.Sprintf("objective of %s: %s", t.Name, o.Text)
	span := r.recorder.Begin(nil, runrecord.Check, title, 0)
	if o.Met {
		span.End(nil)
		return nil
	}
	err := fmt.Errorf("%s is not met: %s", title, o.Got)
	r.recorder.Fail(span, runrecord.Failure{Check: title, Message: err.Error()})
	span.End(err)
	return err
}
