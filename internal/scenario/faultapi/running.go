package faultapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/scenarios/fault"
)

// maxNotes caps the notes that are kept of one fault.
const maxNotes = 100

// Why a fault ends early.
var (
	errStopped = errors.New("stopped on request")
	errLeft    = errors.New("stopped, as the client that injected it is gone")
	errClosing = errors.New("stopped, as the cluster closes")
)

// running is a fault from its injection on, including when it is done.
type running struct {
	fault *fault.Fault
	clock clock.Clock
	// news is the service's.
	news *openrequests.News
	// stop takes it back. hurry ends the delays between attempts to do so.
	stop  context.CancelCauseFunc
	hurry context.CancelFunc
	// given is the document as an object's client sent it; nil: there is no such client.
	given json.RawMessage
	// adopted says that a Runner's caller takes it back, not the service.
	adopted bool
	// done is closed when the fault is over and was taken back.
	done chan struct{}

	mu      sync.Mutex
	shown   Injection
	changed chan struct{} // closed, and replaced, at each change
	// failure is why it could not be taken back.
	failure error
}

func newRunning(id, user string, f *fault.Fault, document json.RawMessage, c clock.Clock, news *openrequests.News) *running {
	now := c.Now().UTC()
	r := &running{
		fault: f, clock: c, news: news, done: make(chan struct{}), changed: make(chan struct{}),
		shown: Injection{ID: id, Title: f.Title(), Fault: document, User: user, State: Pending, Since: now},
	}
	if f.During > 0 {
		r.shown.Until = after(now, f.During)
	}
	return r
}

func after(t time.Time, d fault.Duration) *time.Time {
	t = t.Add(time.Duration(d))
	return &t
}

// look returns the present state, and a channel that is closed when it changes.
func (r *running) look() (Injection, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	shown := r.shown
	shown.Notes = slices.Clone(shown.Notes)
	return shown, r.changed
}

// change changes the shown injection, and closes the channel that look returned.
func (r *running) change(do func(shown *Injection)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(&r.shown)
	close(r.changed)
	r.changed = make(chan struct{})
	r.news.Publish()
}

// note implements fault.Env.Note.
func (r *running) note(format string, args ...any) {
	note := Note{Time: r.clock.Now().UTC(), Text: fmt.Sprintf(format, args...)}
	r.change(func(shown *Injection) {
		shown.Notes = append(shown.Notes, note)
		if surplus := len(shown.Notes) - maxNotes; surplus > 0 {
			shown.Notes = slices.Delete(shown.Notes, 0, surplus)
			shown.Forgotten += surplus
		}
	})
}

// injected implements fault.Env.Injected.
func (r *running) injected() {
	now := r.clock.Now().UTC()
	r.change(func(shown *Injection) {
		shown.State = Active
		shown.Times++
		if r.fault.For > 0 && !r.fault.Repeats() {
			shown.Until = after(now, r.fault.For)
		}
	})
}

// takeBack implements fault.Env.TakeBack. It retries while another fault makes the API server
// fail, and once more after urgent has ended.
func (r *running) takeBack(ctx, urgent context.Context, undo func(context.Context) error) error {
	r.change(func(shown *Injection) { shown.State = Ending })
	noted := false
	err := fault.Retake(urgent, r.clock, 0, func(context.Context) error {
		err := undo(ctx)
		if !noted && fault.Retakable(err) && urgent.Err() == nil {
			noted = true
			r.note("cannot be taken back yet, and is tried every %v: %v", fault.RetakeInterval, err)
		}
		return err
	})
	if err == nil && r.fault.Repeats() {
		r.change(func(shown *Injection) { shown.State = Active })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure = errors.Join(r.failure, err)
	return err
}

// ended records how the fault ended. cause is why it ended early; nil if it did not.
func (r *running) ended(err, cause error) {
	now := r.clock.Now().UTC()
	r.change(func(shown *Injection) {
		shown.Until = &now
		switch {
		case r.failure != nil:
			shown.State, shown.Error = Failed, fmt.Sprintf("it is not taken back: %v", r.failure)
		case cause != nil:
			shown.State = Stopped
			shown.Notes = append(shown.Notes, Note{Time: now, Text: cause.Error()})
		case err != nil:
			shown.State, shown.Error = Failed, err.Error()
		default:
			shown.State = Over
		}
	})
	close(r.done)
}
