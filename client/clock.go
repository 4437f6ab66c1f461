package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Clock is the state of the cluster's clock.
type Clock struct {
	// Mode is virtual, or real with RealClock.
	Mode string `json:"mode"`
	// Factor is the speed, as a multiple of the machine's time; 0 for a real clock.
	Factor float64 `json:"factor"`
	// Paused reports that time stands still until Resume.
	Paused bool `json:"paused"`
	// PausedWork reports that the cluster's work is paused, too: see PauseWork. Waiting is how many pieces
	// of it wait, and NextStep the one that Step does.
	PausedWork bool   `json:"pausedWork"`
	Waiting    int    `json:"waiting"`
	NextStep   string `json:"nextStep"`
	// Moving reports that Advance or Step moves the clock, whatever its speed.
	Moving bool `json:"moving"`
	// Now is the cluster's time.
	Now time.Time `json:"now"`
	// NextTimer is when the next timer of a virtual clock is due; nil: none is set.
	NextTimer *time.Time `json:"nextTimer"`
	// InFlight is the work for which virtual time stands still; empty: none.
	InFlight string `json:"inFlight"`
}

const clockPath = "/minikcm/v1/clock"

// Clock returns the state of the cluster's clock.
func (c *Cluster) Clock(ctx context.Context) (*Clock, error) {
	return c.clockAt(ctx, http.MethodGet, clockPath, nil)
}

// Pause makes time stand still, except during Advance and Step.
func (c *Cluster) Pause(ctx context.Context) (*Clock, error) {
	return c.control(ctx, clockPath, "pause", nil)
}

// PauseWork is Pause for the cluster's work, too: what a write sets off waits for Step.
func (c *Cluster) PauseWork(ctx context.Context) (*Clock, error) {
	return c.control(ctx, clockPath, "pause", map[string]any{"work": true})
}

// Resume lets time pass again, at the speed that it had.
func (c *Cluster) Resume(ctx context.Context) (*Clock, error) {
	return c.control(ctx, clockPath, "resume", nil)
}

// Step moves the clock to its next timer, and returns when the work that it starts is done. After
// PauseWork, it does the piece of work that waits longest instead, if one waits.
func (c *Cluster) Step(ctx context.Context) (*Clock, error) {
	return c.control(ctx, clockPath, "step", nil)
}

// SetSpeed sets the speed of the clock, as a multiple of the machine's time: above 0, at most
// 1,000,000. A paused clock stays paused.
func (c *Cluster) SetSpeed(ctx context.Context, speed float64) (*Clock, error) {
	return c.control(ctx, clockPath, "speed", map[string]any{"speed": speed})
}

// Advance moves the clock by d, and returns when all work that was due by then is done. If ctx
// ends first, the clock stays where it is.
func (c *Cluster) Advance(ctx context.Context, d time.Duration) (*Clock, error) {
	return c.control(ctx, clockPath, "advance", map[string]any{"duration": d.String()})
}

// Settle waits until nothing is in flight in the cluster: its controllers, scheduler and nodes
// have done all that needs no time. It does not wait for programs outside the cluster.
func (c *Cluster) Settle(ctx context.Context) (*Clock, error) { return c.Advance(ctx, 0) }

// control does something to the clock at path.
func (c *Cluster) control(ctx context.Context, path, verb string, body any) (*Clock, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	return c.clockAt(ctx, http.MethodPost, path+"/"+verb, data)
}

// clockAt makes a request whose response is the state of a clock.
func (c *Cluster) clockAt(ctx context.Context, method, path string, body []byte) (*Clock, error) {
	state := &Clock{}
	return state, c.ask(ctx, method, path, nil, body, state)
}
