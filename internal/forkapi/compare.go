package forkapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/comparison"
	"minikcm.dev/minikcm/internal/openrequests"
)

const (
	// maxComparisons caps the comparisons at a time: each keeps the objects of two clusters.
	maxComparisons = 4
	// lineInterval is the machine's time between two lines of a stream while something is
	// written, and idleInterval while nothing is, for the clocks.
	lineInterval = 500 * time.Millisecond
	idleInterval = 5 * time.Second
)

// Comparison compares a cluster (here) with a fork of it (there).
type Comparison struct {
	Fork  Fork              `json:"fork"`
	Here  Compared          `json:"here"`
	There Compared          `json:"there"`
	Kinds []comparison.Kind `json:"kinds"`
}

// Compared is one cluster's side of a comparison.
type Compared struct {
	Clock    minikcm.ClockInfo `json:"clock"`
	Revision int64             `json:"revision"`
	comparison.Counts
	// Writes are the newest writes, oldest first, without writes of Events and Leases.
	Writes []minikcm.Write `json:"writes"`
}

// serveComparison compares the cluster with a fork, once or, with follow=true, whenever one of them
// changes until ctx ends, as it does with the fork.
func (s *service) serveComparison(ctx context.Context, w http.ResponseWriter, r *http.Request, fork *running) error {
	if r.Method != http.MethodGet {
		return openrequests.NotAllowed(w, r, resource, http.MethodGet)
	}
	follow, err := openrequests.Follow(r)
	if err != nil {
		return err
	}
	select {
	case s.comparing <- struct{}{}:
		defer func() { <-s.comparing }()
	default:
		return apierrors.NewTooManyRequests(fmt.Sprintf("%d comparisons are streamed, and more are not allowed: close one first", maxComparisons), 0)
	}
	c := &comparing{fork: fork, some: make(chan struct{}, 1)}
	for side, cluster := range map[comparison.Side]*minikcm.Cluster{comparison.Here: s.cluster, comparison.There: fork.cluster} {
		c.sides[side] = newSide(cluster, c.wake)
		defer c.sides[side].stop()
	}
	for _, side := range c.sides {
		if err := side.list(ctx); err != nil {
			return err
		}
	}
	if !follow {
		shown, err := c.shown(ctx)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, shown)
	}
	c.stream(ctx, w)
	return nil
}

// comparing compares a cluster with a fork.
type comparing struct {
	fork   *running
	sides  [2]*side
	result comparison.Comparison
	// some receives a value when something was written.
	some chan struct{}
}

// wake is called in the request that wrote. It does not block.
func (c *comparing) wake() {
	select {
	case c.some <- struct{}{}:
	default: // it is known already
	}
}

// shown compares what has changed since the last call, and returns the comparison.
func (c *comparing) shown(ctx context.Context) (*Comparison, error) {
	for i, side := range c.sides {
		set := func(key comparison.Key, object map[string]any) { c.result.Set(comparison.Side(i), key, object) }
		if err := side.apply(ctx, set); err != nil {
			return nil, err
		}
	}
	shown := &Comparison{Fork: c.fork.shown, Kinds: c.result.Kinds()}
	for i, into := range map[comparison.Side]*Compared{comparison.Here: &shown.Here, comparison.There: &shown.There} {
		c.sides[i].show(into)
		into.Counts = c.result.Counts(i)
	}
	return shown, nil
}

// stream writes a line now, after writes, and when there were none for a while. It ends with the
// client and with ctx, and if an object cannot be read.
func (c *comparing) stream(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	idle := clock.Real().NewTicker(idleInterval)
	defer idle.Stop()
	pause := clock.Real().NewTimer(lineInterval)
	defer pause.Stop()
	for {
		line, err := c.shown(ctx)
		if err != nil {
			return // the client begins again
		}
		if openrequests.WriteLine(w, line) != nil {
			return // the client is gone
		}
		pause.Reset(lineInterval)
		select {
		case <-pause.C():
		case <-ctx.Done():
			return
		}
		select {
		case <-c.some:
		case <-idle.C():
		case <-ctx.Done():
			return
		}
	}
}
