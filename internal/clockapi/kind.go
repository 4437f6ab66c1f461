package clockapi

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// ObjectName is the name of the one Clock.
const ObjectName = "cluster"

// kind is the kind of the Clock.
var kind = schema.GroupKind{Group: "simulation.minikcm.dev", Kind: "Clock"}

//go:embed clock.yaml
var definition []byte

// clockSpec is the spec of a Clock, which clock.yaml describes.
type clockSpec struct {
	Speed      float64      `json:"speed,omitempty"`
	Paused     bool         `json:"paused,omitempty"`
	WorkPaused bool         `json:"workPaused,omitempty"`
	AdvanceTo  *metav1.Time `json:"advanceTo,omitempty"`
}

// clockStatus is its status.
type clockStatus struct {
	Mode      clock.Mode   `json:"mode"`
	Time      metav1.Time  `json:"time"`
	Speed     float64      `json:"speed,omitempty"`
	Paused    bool         `json:"paused"`
	Moving    bool         `json:"moving,omitempty"`
	NextTimer *metav1.Time `json:"nextTimer,omitempty"`
	Waiting   int          `json:"waiting,omitempty"`
	NextStep  string       `json:"nextStep,omitempty"`
	InFlight  string       `json:"inFlight,omitempty"`
	Message   string       `json:"message,omitempty"`
}

// object is the Clock of a cluster.
type object struct {
	cluster *minikcm.Cluster

	mu sync.Mutex
	// advanceTo is the time to which the clock moves; nil: to none.
	advanceTo *metav1.Time
	message   string
	cancel    context.CancelFunc // ends the move
	moves     sync.WaitGroup
	closed    bool
}

// Now implements minikcm.LiveObjects.
func (o *object) Now() []minikcm.LiveObject {
	state, _ := stateOf(o.cluster)
	o.mu.Lock()
	defer o.mu.Unlock()
	status := clockStatus{
		Mode: state.Mode, Time: metav1.NewTime(state.Now.Truncate(time.Second)), Speed: state.Factor, Paused: state.Paused, Moving: state.Moving,
		Waiting: state.Waiting, NextStep: state.NextStep, InFlight: state.InFlight, Message: o.message,
	}
	if state.NextTimer != nil {
		next := metav1.NewTime(*state.NextTimer)
		status.NextTimer = &next
	}
	spec := clockSpec{AdvanceTo: o.advanceTo}
	if o.cluster.Pacer() != nil {
		spec.Speed, spec.Paused, spec.WorkPaused = state.Factor, state.Paused, state.PausedWork
	}
	return []minikcm.LiveObject{{Name: ObjectName, Spec: spec, Status: status}}
}

// Changed implements minikcm.LiveObjects.
func (o *object) Changed() <-chan struct{} {
	_, changed := stateOf(o.cluster)
	return changed
}

// Apply implements minikcm.LiveObjects.
func (o *object) Apply(_ context.Context, _ string, data []byte, dryRun bool) error {
	pacer := o.cluster.Pacer()
	if pacer == nil {
		return notPaced(o.cluster)
	}
	var spec clockSpec
	if err := json.Unmarshal(data, &spec); err != nil {
		return fmt.Errorf("decoding the spec of a Clock: %w", err)
	}
	path := field.NewPath("spec")
	pace, _ := pacer.Pace()
	if spec.Speed == 0 { // left out: as it is
		spec.Speed = pace.Speed
	}
	if err := clock.ValidateSpeed(spec.Speed); err != nil {
		return o.invalid(field.Invalid(path.Child("speed"), spec.Speed, err.Error()))
	}
	if spec.WorkPaused && !spec.Paused {
		return o.invalid(field.Invalid(path.Child("workPaused"), true, "work waits only while time stands still: set paused, too"))
	}
	if dryRun {
		return nil
	}
	if err := o.advance(pacer, spec.AdvanceTo); err != nil {
		return err
	}
	if err := pacer.SetSpeed(spec.Speed); err != nil {
		return err
	}
	switch {
	case spec.WorkPaused:
		if !pace.Work {
			pacer.PauseWork()
		}
	case spec.Paused:
		if !pace.Paused || pace.Work {
			pacer.Pause()
		}
	case pace.Paused:
		pacer.Resume()
	}
	return nil
}

func (o *object) invalid(err *field.Error) error {
	return apierrors.NewInvalid(kind, ObjectName, field.ErrorList{err})
}

// advance moves the clock to a time, unless it is nil or has passed. A move that is under way ends.
func (o *object) advance(pacer *clock.Pacer, to *metav1.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if to.Equal(o.advanceTo) {
		return nil
	}
	if o.closed {
		return errClosing()
	}
	if o.cancel != nil {
		o.cancel()
		o.cancel = nil
	}
	o.advanceTo, o.message = nil, ""
	d := time.Duration(0)
	if to != nil {
		d = to.Sub(o.cluster.Clock().Now())
	}
	if d <= 0 {
		return nil
	}
	o.advanceTo = to
	var ctx context.Context
	ctx, o.cancel = context.WithCancel(context.Background())
	o.moves.Go(func() {
		err := pacer.Advance(ctx, d)
		o.moved(to, err)
	})
	return nil
}

// moved ends a move to a time.
func (o *object) moved(to *metav1.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.advanceTo != to {
		return
	}
	o.advanceTo = nil
	if err != nil && !errors.Is(err, context.Canceled) {
		o.message = fmt.Sprintf("the clock did not reach %s: %v", to.UTC().Format(time.RFC3339), explain(err))
	}
}

// close ends the move.
func (o *object) close() {
	o.mu.Lock()
	o.closed = true
	if o.cancel != nil {
		o.cancel()
	}
	o.mu.Unlock()
	o.moves.Wait()
}
