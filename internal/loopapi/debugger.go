package loopapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/openrequests"
)

const (
	// DebuggerFeature is the name of the debugger's extension, and DebuggerPath where it is served.
	DebuggerFeature = "debugger"
	DebuggerPath    = "/minikcm/v1/" + DebuggerFeature

	// maxPassed caps the passed stops that a session keeps for those who join it.
	maxPassed = 1000
	// maxRun caps the steps of one request.
	maxRun = 100_000
	// maxStepBody is the size limit of a request's body, in bytes.
	maxStepBody = 4 << 10
)

var debuggerResource = schema.GroupResource{Group: "minikcm.dev", Resource: DebuggerFeature}

// Debugger is the state of the debugger. While a client streams it (follow=true), the cluster's time and work stand still, and wait
// at each stage for a step.
type Debugger struct {
	Now time.Time `json:"now"`
	// Holding reports that the cluster's work waits for steps.
	Holding bool `json:"holding"`
	// Next is where the work waits; nil: nothing does, and the next step moves the clock to NextTimer, if there is one.
	Next    *Stop `json:"next,omitempty"`
	Waiting int   `json:"waiting"`
	// NextTimer is when the next timer of the clock is due.
	NextTimer *time.Time `json:"nextTimer,omitempty"`
	// Passed are the stops that have been passed since the previous line of the stream, or by this request.
	Passed []Passed `json:"passed"`
	// Reason says why a request made no more steps: steps (it has made them), breakpoint, idle (nothing waits) or limit.
	Reason string `json:"reason,omitempty"`
}

// Passed is a stop that has been passed, or what others did meanwhile, with the writes.
type Passed struct {
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	// Stop is where the work waited before the step; nil: a timer fired (Timer) or clients wrote.
	Stop  *Stop `json:"stop,omitempty"`
	Timer bool  `json:"timer,omitempty"`
	// Writes are the writes since the passed stop before.
	Writes []minikcm.Write `json:"writes,omitempty"`
}

// Breakpoint is a set of conditions, which all have to hold; empty ones always do.
type Breakpoint struct {
	Controller string `json:"controller,omitempty"`
	Key        string `json:"key,omitempty"`
	// Verb and Kind describe a write.
	Verb string `json:"verb,omitempty"`
	Kind string `json:"kind,omitempty"`
	// Error is met by a reconcile that failed.
	Error bool `json:"error,omitempty"`
}

// stepRequest is the body of a step: at most that many steps (without a breakpoint 1, with one as many as needed).
type stepRequest struct {
	Steps int         `json:"steps,omitempty"`
	Until *Breakpoint `json:"until,omitempty"`
}

// matches reports whether work waits where b says.
func (b *Breakpoint) matches(s *Stop) bool {
	if s == nil || b.Error && s.Error == "" || b.Controller != "" && b.Controller != s.Controller {
		return false
	}
	if b.Key != "" && b.Key != s.Key && (s.Object == nil || b.Key != strings.TrimPrefix(s.Object.Namespace+"/"+s.Object.Name, "/")) {
		return false
	}
	if b.Verb == "" && b.Kind == "" {
		return true
	}
	verb, _, _ := strings.Cut(s.Verb, " ")
	return s.Stage == "write" && (b.Verb == "" || b.Verb == verb) && (b.Kind == "" || s.Object != nil && strings.EqualFold(b.Kind, s.Object.Kind))
}

// DebuggerExtension serves the debugger.
func DebuggerExtension() minikcm.Extension {
	return minikcm.Extension{Name: DebuggerFeature, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
		return &debugger{cluster: cluster}, nil
	}}
}

// debugger is a session while clients stream it. The lock order is: steps, mu.
type debugger struct {
	cluster  *minikcm.Cluster
	requests openrequests.Group
	news     openrequests.News
	steps    sync.Mutex // one request steps at a time

	mu      sync.Mutex
	viewers int
	// end ends the hold; nil: none. ended is closed when it has ended.
	end     func()
	ended   <-chan struct{}
	passed  []Passed
	number  int
	written written
}

// written collects the writes since the last passed stop. Its lock is held while the write record's is.
type written struct {
	mu     sync.Mutex
	writes []minikcm.Write
}

func (w *written) add(write *minikcm.Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, *write)
}

func (w *written) take() []minikcm.Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.writes
	w.writes = nil
	return writes
}

// ServeHTTP implements minikcm.ExtensionHandler.
func (d *debugger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.requests.Serve(w, r, apierrors.NewServiceUnavailable("the cluster is closing"), minikcm.WriteError, d.serve)
}

func (d *debugger) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	switch verb := strings.Trim(strings.TrimPrefix(r.URL.Path, DebuggerPath), "/"); {
	case verb == "step" && r.Method == http.MethodPost:
		return d.step(ctx, w, r)
	case verb == "step":
		return openrequests.NotAllowed(w, r, debuggerResource, http.MethodPost)
	case verb != "":
		return apierrors.NewNotFound(debuggerResource, verb)
	case r.Method != http.MethodGet:
		return openrequests.NotAllowed(w, r, debuggerResource, http.MethodGet)
	}
	follow, err := openrequests.Follow(r)
	if err != nil {
		return err
	}
	if !follow {
		openrequests.Answer(w, http.StatusOK, d.state(nil))
		return nil
	}
	return d.stream(ctx, w)
}

// state returns the state, with the stops that were passed.
func (d *debugger) state(passed []Passed) *Debugger {
	d.mu.Lock()
	holding := d.end != nil
	d.mu.Unlock()
	s := &Debugger{Now: d.cluster.Clock().Now().UTC(), Holding: holding, Passed: passed}
	if s.Passed == nil {
		s.Passed = []Passed{}
	}
	if !holding {
		return s
	}
	next, waiting := d.cluster.Ledger().Next()
	if s.Waiting = waiting; waiting > 0 {
		s.Next = d.stop(next)
	}
	if virtual, ok := d.cluster.Clock().(*clock.Virtual); ok {
		if due, ok := virtual.NextTimer(); ok {
			due = due.UTC()
			s.NextTimer = &due
		}
	}
	return s
}

// uid matches the UIDs by which the scheduler and nodes name pods.
var uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// stop describes work that waits, with the names of pods in place of their UIDs.
func (d *debugger) stop(at inflight.Waiting) *Stop {
	at.Key = uid.ReplaceAllStringFunc(at.Key, func(id string) string {
		writes := d.cluster.Writes().Writes(func(w *minikcm.Write) bool { return string(w.UID) == id })
		if len(writes) == 0 {
			return id
		}
		return writes[0].Namespace + "/" + writes[0].Name
	})
	return stopOf(at)
}

// join begins a session, or joins the one that runs. leave ends it when all who joined have left: what waits goes on.
func (d *debugger) join() (ended <-chan struct{}, leave func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.end == nil {
		if err := d.beginLocked(); err != nil {
			return nil, nil, err
		}
	}
	d.viewers++
	own := d.ended
	return own, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.ended == own {
			if d.viewers--; d.viewers == 0 {
				d.endLocked()
			}
		}
	}, nil
}

func (d *debugger) beginLocked() error {
	pacer := d.cluster.Pacer()
	if pacer == nil || d.cluster.Ledger().TakesTurns() {
		return conflict("the cluster's clock cannot be controlled: start the cluster with --clock=virtual, and without --etcd-servers")
	}
	ended, release, err := pacer.PauseStages()
	if errors.Is(err, clock.ErrStagesPaused) {
		return conflict(err.Error())
	}
	if err != nil {
		return err
	}
	stop := d.cluster.Writes().Observe(func(w *minikcm.Write) {
		d.written.add(w)
		d.news.Publish()
	})
	d.ended, d.viewers, d.passed, d.number = ended, 0, nil, 0
	d.end = func() {
		release()
		stop()
		d.written.take()
	}
	return nil
}

func (d *debugger) endLocked() {
	d.end()
	d.end, d.ended, d.viewers = nil, nil, 0
}

// stream holds the cluster's work while the client reads, and writes a line at each change.
func (d *debugger) stream(ctx context.Context, w http.ResponseWriter) error {
	ended, leave, err := d.join()
	if err != nil {
		return err
	}
	defer leave()
	w.Header().Set("Content-Type", "application/json")
	ticker := clock.Real().NewTicker(idleInterval) // a client that is gone without a word is noticed by a write
	defer ticker.Stop()
	seen := 0
	for {
		changed := d.news.Wait()
		if d.steps.TryLock() { // else the writes belong to the step
			d.took(nil, false)
			d.steps.Unlock()
		}
		passed := d.since(seen)
		if len(passed) > 0 {
			seen = passed[len(passed)-1].Number
		}
		if openrequests.WriteLine(w, d.state(passed)) != nil {
			return nil // the client is gone
		}
		select {
		case <-changed:
		case <-ticker.C():
		case <-ended:
			d.hasEnded(ended)
			_ = openrequests.WriteLine(w, d.state(nil))
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// hasEnded forgets a session that a Pause or Resume of the clock has ended.
func (d *debugger) hasEnded(ended <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended == ended {
		d.endLocked()
	}
}

// since returns the kept stops after a number.
func (d *debugger) since(number int) []Passed {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range d.passed {
		if p.Number > number {
			return append([]Passed(nil), d.passed[i:]...)
		}
	}
	return nil
}

// took keeps a stop that has been passed, or a timer, with the writes since the one before. Without either, it keeps the writes, if there are some.
func (d *debugger) took(stop *Stop, timer bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	writes := d.written.take()
	if stop == nil && !timer && len(writes) == 0 {
		return
	}
	d.number++
	d.passed = append(d.passed, Passed{Number: d.number, Time: d.cluster.Clock().Now().UTC(), Stop: stop, Timer: timer, Writes: writes})
	if len(d.passed) > maxPassed {
		d.passed = append([]Passed(nil), d.passed[len(d.passed)-maxPassed/2:]...)
	}
}

func (d *debugger) step(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	body, err := openrequests.ReadBody(w, r, maxStepBody, "a step", "reading the step")
	if err != nil {
		return err
	}
	var request stepRequest
	if len(body) > 0 {
		if err := json.Unmarshal(body, &request); err != nil {
			return apierrors.NewBadRequest("the body is not what is expected here: " + err.Error())
		}
	}
	if request.Steps < 0 || request.Steps > maxRun {
		return apierrors.NewBadRequest("steps must be at least 1 and at most 100000, or left out")
	}
	if request.Steps == 0 {
		request.Steps = 1
		if request.Until != nil {
			request.Steps = maxRun
		}
	}
	d.steps.Lock()
	defer d.steps.Unlock()
	d.took(nil, false)
	d.mu.Lock()
	holding, from := d.end != nil, d.number
	d.mu.Unlock()
	if !holding {
		return conflict("nothing holds the cluster's work: read " + DebuggerPath + "?follow=true meanwhile, which does")
	}
	reason, err := d.run(ctx, request)
	d.news.Publish()
	if err != nil {
		return err
	}
	state := d.state(d.since(from))
	state.Reason = reason
	openrequests.Answer(w, http.StatusOK, state)
	return nil
}

// run makes steps, and returns why it makes no more.
func (d *debugger) run(ctx context.Context, request stepRequest) (reason string, err error) {
	ledger, pacer := d.cluster.Ledger(), d.cluster.Pacer()
	for made := range request.Steps {
		if err := ledger.WaitPaused(ctx); err != nil {
			return "", err
		}
		next, waiting := ledger.Next()
		if waiting == 0 && request.Until != nil {
			return "idle", nil
		}
		var stop *Stop
		if waiting > 0 {
			stop = d.stop(next)
		}
		if made > 0 && request.Until != nil && request.Until.matches(stop) {
			return "breakpoint", nil
		}
		if err := pacer.Step(ctx); errors.Is(err, clock.ErrNoTimer) {
			return "idle", nil
		} else if err != nil {
			return "", err
		}
		d.took(stop, stop == nil)
	}
	if request.Until != nil {
		return "limit", nil
	}
	return "steps", nil
}

// Close implements minikcm.ExtensionHandler.
func (d *debugger) Close() error {
	d.requests.Close()
	return nil
}

func conflict(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: message,
		Details: &metav1.StatusDetails{Group: debuggerResource.Group, Kind: debuggerResource.Resource},
	}}
}
