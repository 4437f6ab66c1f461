package clockapi

import (
	"time"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

const (
	// Feature is the name of the extension, and Path where it is served.
	Feature = "clock"
	Path    = "/minikcm/v1/" + Feature
)

// State is the state of a cluster's clock.
type State struct {
	minikcm.ClockInfo
	// Moving reports that a request advances the clock, whatever its speed.
	Moving bool `json:"moving,omitempty"`
	// NextTimer is when the next timer of a virtual clock is due.
	NextTimer *time.Time `json:"nextTimer,omitempty"`
	// PausedWork reports that the cluster's work is paused, too, and waits for steps. Waiting is how many
	// pieces of it wait, and NextStep the first.
	PausedWork bool   `json:"pausedWork,omitempty"`
	Waiting    int    `json:"waiting,omitempty"`
	NextStep   string `json:"nextStep,omitempty"`
	// InFlight is the work for which virtual time stands still; empty: none.
	InFlight string `json:"inFlight,omitempty"`
}

// pauseRequest is the body of a POST to /pause. Work says that the cluster's work is paused, too.
type pauseRequest struct {
	Work bool `json:"work"`
}

// speedRequest is the body of a POST to /speed.
type speedRequest struct {
	Speed *float64 `json:"speed"`
}

// advanceRequest is the body of a POST to /advance. Duration is Go's, such as 24h.
type advanceRequest struct {
	Duration *string `json:"duration"`
}

// stateOf returns the state of the cluster's clock. changed is closed when its speed changes
// or it is paused, resumed or moved; nil if that cannot happen.
func stateOf(cluster *minikcm.Cluster) (state State, changed <-chan struct{}) {
	if pacer := cluster.Pacer(); pacer != nil {
		var pace clock.Pace
		pace, changed = pacer.Pace()
		state.Moving, state.PausedWork = pace.Moving, pace.Work
		next, waiting := cluster.Ledger().Next()
		state.NextStep, state.Waiting = next.String(), waiting
	}
	state.ClockInfo = cluster.Info().Clock
	if virtual, ok := cluster.Clock().(*clock.Virtual); ok {
		if due, ok := virtual.NextTimer(); ok {
			due = due.UTC()
			state.NextTimer = &due
		}
		if ledger := cluster.Ledger(); !ledger.Idle() {
			state.InFlight = ledger.String()
		}
	}
	return state, changed
}
