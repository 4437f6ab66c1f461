package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Fork is a cluster in the same process that began with the objects of one revision.
type Fork struct {
	ID string `json:"id"`
	// Revision is the one whose objects it began with, and Time when that was.
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"`
	// Server is its API server's address, and Kubeconfig the file of its kubeconfig.
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	// Link opens its page once. Only Cluster.Fork sets it, on a cluster of "minikcm up --ui".
	Link string `json:"link"`
	// LeftOut is the number of objects that its API server refused.
	LeftOut int `json:"leftOut"`
}

const forksPath = "/minikcm/v1/forks"

// Fork starts a cluster with the objects of a revision, 0 for the newest, and returns when its
// nodes are Ready. Only a cluster of "minikcm up" can be forked.
func (c *Cluster) Fork(ctx context.Context, revision int64) (*Fork, error) {
	body, err := json.Marshal(map[string]int64{"revision": revision})
	if err != nil {
		return nil, err
	}
	fork := &Fork{}
	return fork, c.ask(ctx, http.MethodPost, forksPath, nil, body, fork)
}

// Forks returns the forks that run.
func (c *Cluster) Forks(ctx context.Context) ([]Fork, error) {
	var all []Fork
	err := c.ask(ctx, http.MethodGet, forksPath, nil, nil, &all)
	return all, err
}

// EndFork ends a fork, and returns when it has ended.
func (c *Cluster) EndFork(ctx context.Context, id string) (*Fork, error) {
	fork := &Fork{}
	return fork, c.ask(ctx, http.MethodDelete, forksPath+"/"+url.PathEscape(id), nil, nil, fork)
}

func forkClockPath(id string) string { return forksPath + "/" + url.PathEscape(id) + "/clock" }

// ForkClock returns the state of a fork's own clock.
func (c *Cluster) ForkClock(ctx context.Context, id string) (*Clock, error) {
	return c.clockAt(ctx, http.MethodGet, forkClockPath(id), nil)
}

// PauseFork makes time stand still in a fork, except during AdvanceFork and StepFork.
func (c *Cluster) PauseFork(ctx context.Context, id string) (*Clock, error) {
	return c.control(ctx, forkClockPath(id), "pause", nil)
}

// ResumeFork lets time pass again in a fork, at the speed that it had.
func (c *Cluster) ResumeFork(ctx context.Context, id string) (*Clock, error) {
	return c.control(ctx, forkClockPath(id), "resume", nil)
}

// StepFork moves a fork's clock to its next timer, and returns when the work that it starts is
// done.
func (c *Cluster) StepFork(ctx context.Context, id string) (*Clock, error) {
	return c.control(ctx, forkClockPath(id), "step", nil)
}

// SetForkSpeed is SetSpeed for a fork's clock.
func (c *Cluster) SetForkSpeed(ctx context.Context, id string, speed float64) (*Clock, error) {
	return c.control(ctx, forkClockPath(id), "speed", map[string]any{"speed": speed})
}

// AdvanceFork moves a fork's clock by d, and returns when all work that was due by then is done.
func (c *Cluster) AdvanceFork(ctx context.Context, id string, d time.Duration) (*Clock, error) {
	return c.control(ctx, forkClockPath(id), "advance", map[string]any{"duration": d.String()})
}

// Comparison compares a cluster (Here) with a fork of it (There).
type Comparison struct {
	Fork  Fork           `json:"fork"`
	Here  Compared       `json:"here"`
	There Compared       `json:"there"`
	Kinds []ComparedKind `json:"kinds"`
}

// Compared describes one of the clusters that are compared.
type Compared struct {
	Clock      Clock `json:"clock"`
	Revision   int64 `json:"revision"`
	Nodes      int   `json:"nodes"`
	NodesReady int   `json:"nodesReady"`
	// Pods counts the pods by phase.
	Pods map[string]int `json:"pods"`
	// Writes are the newest writes, oldest first, except writes of Events and Leases.
	Writes []Write `json:"writes"`
}

// ComparedKind compares the objects of a kind. Its lists have the first 100.
type ComparedKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Here and There count the objects of each side, Both the objects that are on both sides, and
	// Differ how many of these differ.
	Here      int      `json:"here"`
	There     int      `json:"there"`
	Both      int      `json:"both"`
	Differ    int      `json:"differ"`
	OnlyHere  []string `json:"onlyHere"`
	OnlyThere []string `json:"onlyThere"`
	Objects   []struct {
		Name   string `json:"name"`
		Fields []struct {
			Path  string `json:"path"`
			Here  string `json:"here"`
			There string `json:"there"`
		} `json:"fields"`
		// More counts the further fields.
		More int `json:"more"`
	} `json:"objects"`
}

// CompareFork compares the cluster with a fork of it.
func (c *Cluster) CompareFork(ctx context.Context, id string) (*Comparison, error) {
	comparison := &Comparison{}
	return comparison, c.ask(ctx, http.MethodGet, forksPath+"/"+url.PathEscape(id)+"/comparison", nil, nil, comparison)
}

// Loop is the state of one loop of a controller. Its lists have only the first keys.
type Loop struct {
	Name string `json:"name"`
	// Queued are the keys that wait for a worker; QueuedCount is their number.
	Queued      []string `json:"queued"`
	QueuedCount int      `json:"queuedCount"`
	// Processing are the keys that workers have, Delayed the keys that wait for a time.
	Processing []LoopKey `json:"processing"`
	Delayed    []LoopKey `json:"delayed"`
	Reconciles int64     `json:"reconciles"`
	Failures   int64     `json:"failures"`
	Retries    int64     `json:"retries"`
}

// LoopKey is a key with the time since which a worker has it, or at which it is due.
type LoopKey struct {
	Key   string    `json:"key"`
	Since time.Time `json:"since"`
	Due   time.Time `json:"due"`
	// Failures counts the consecutive failures of a delayed key.
	Failures int `json:"failures"`
}

// Loops returns the state of a controller's loops.
func (c *Cluster) Loops(ctx context.Context, controller string) ([]Loop, error) {
	var state struct {
		Loops []Loop `json:"loops"`
	}
	err := c.ask(ctx, http.MethodGet, "/minikcm/v1/loops/"+url.PathEscape(controller), nil, nil, &state)
	return state.Loops, err
}

// DebugStop is where a cluster's work waits for a step: at a stage of the way from an event to a write.
type DebugStop struct {
	// Stage is event, queue, handler, key, decision, write, failure or work; Code is client-go's name for what happens next.
	Stage string `json:"stage"`
	Code  string `json:"code"`
	// Says is a sentence that says what happens next, and why.
	Says       string `json:"says"`
	Controller string `json:"controller"`
	Key        string `json:"key"`
	Error      string `json:"error"`
}

// Debugging is the state of the debugger. Work stands still (Holding) while a client streams it, as the live page does.
type Debugging struct {
	Now     time.Time `json:"now"`
	Holding bool      `json:"holding"`
	// Next is where the work waits; nil: nowhere. Waiting is how many pieces of it wait.
	Next    *DebugStop `json:"next"`
	Waiting int        `json:"waiting"`
	// Passed are the stops that a StepDebugger has passed.
	Passed []struct {
		Stop *DebugStop `json:"stop"`
	} `json:"passed"`
	// Reason says why there were no more steps: steps, breakpoint, idle or limit.
	Reason string `json:"reason"`
}

// Breakpoint has the conditions under which StepDebugger ends; empty ones always hold. Verb and Kind describe a write.
type Breakpoint struct {
	Controller string `json:"controller,omitempty"`
	Key        string `json:"key,omitempty"`
	Verb       string `json:"verb,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Error      bool   `json:"error,omitempty"`
}

// Debugger returns the state of the debugger.
func (c *Cluster) Debugger(ctx context.Context) (*Debugging, error) {
	state := &Debugging{}
	return state, c.ask(ctx, http.MethodGet, "/minikcm/v1/debugger", nil, nil, state)
}

// StepDebugger lets the work that waits go on to its next stop or, if until is not nil, to a breakpoint. It fails unless a client
// streams the debugger meanwhile.
func (c *Cluster) StepDebugger(ctx context.Context, until *Breakpoint) (*Debugging, error) {
	body, err := json.Marshal(map[string]any{"until": until})
	if err != nil {
		return nil, err
	}
	state := &Debugging{}
	return state, c.ask(ctx, http.MethodPost, "/minikcm/v1/debugger/step", nil, body, state)
}
