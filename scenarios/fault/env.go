package fault

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// Env is the cluster that a fault is injected into, and how Run reports. On virtual time
// the caller of Run passes the context of its work (inflight.With), which is not in flight
// while Run waits.
type Env struct {
	// Cluster is nil if it is not one of ours, but one that Client reaches.
	Cluster *minikcm.Cluster
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Clock   clock.Clock
	Random  *clock.Random
	// Note is called with a text for each thing that Run does; it may be nil.
	Note func(format string, args ...any)
	// Defer is called with the function that takes back a fault which lasts to the end of
	// the scenario; it may be called more than once. If Defer is nil, Run lasts as long as
	// the fault.
	Defer func(takeBack func(ctx context.Context) error)
	// TakeBack calls the function that takes back a fault whose time is over or that was
	// interrupted, again if it fails: taking back twice does nothing. If TakeBack is nil,
	// Run calls the function itself, and retries it as Retake does.
	TakeBack func(ctx context.Context, takeBack func(ctx context.Context) error) error
	// Holds is shared by the faults of a cluster that may last at the same time. If it is
	// nil, the first of two faults that break the same thing mends it when it is over.
	Holds *Holds
	// Hit is called for each pod that is hit, with the container if only one is; it may
	// be nil.
	Hit func(pod *corev1.Pod, container string)
	// Injected is called when a fault has been injected, before the time that it lasts. A
	// drain without a limit has been injected when the nodes are drained. It may be nil.
	Injected func()
	// Exempt are the users whose requests faults of the API server pass over.
	Exempt []string

	// Namespace takes the place of the namespace default of pods; empty: it stays.
	Namespace string

	// drains holds the drains that are not done yet.
	drains []*draining
}

func (e *Env) note(format string, args ...any) {
	if e.Note != nil {
		e.Note(format, args...)
	}
}

func (e *Env) injected() {
	if e.Injected != nil {
		e.Injected()
	}
}

func (e *Env) hit(pod *corev1.Pod, container string) {
	if e.Hit != nil {
		e.Hit(pod, container)
	}
}

// takeBack takes back the effects of a fault, even after ctx has ended.
func (e *Env) takeBack(ctx context.Context, undo injected) error {
	if e.TakeBack == nil {
		return Retake(ctx, e.Clock, RetakeLimit, undo)
	}
	return e.TakeBack(context.WithoutCancel(ctx), undo)
}

const (
	// RetakeInterval is the delay, by the cluster's clock, between two attempts to take back
	// a fault while another one makes the API server fail.
	RetakeInterval = time.Second
	// RetakeLimit bounds the time for which a scenario retries to take back a fault.
	RetakeLimit = 10 * time.Minute
)

// Retakable reports whether another attempt may take back a fault that the last one failed
// to take back with err: another fault made the API server fail, or another writer was first.
func Retakable(err error) bool { return Unanswered(err) || apierrors.IsConflict(err) }

// Retake takes back a fault. While the error is Retakable it retries every RetakeInterval, for
// at most limit of c's time (0: for ever). After ctx has ended it makes one attempt.
func Retake(ctx context.Context, c clock.Clock, limit time.Duration, undo func(context.Context) error) error {
	end := c.Now().Add(limit)
	for {
		ended := ctx.Err() != nil
		err := undo(context.WithoutCancel(ctx))
		if err == nil || ended || !Retakable(err) || limit > 0 && !c.Now().Before(end) {
			return err
		}
		_ = inflight.Sleep(ctx, c, RetakeInterval) // its end is looked at above
	}
}

// sleep lets d of the cluster's time pass; it returns early with the cause of ctx's end.
func (e *Env) sleep(ctx context.Context, d time.Duration) error {
	return inflight.Sleep(ctx, e.Clock, d)
}

// wait returns when ctx ends, with its cause.
func (e *Env) wait(ctx context.Context) error {
	var never inflight.Latch
	return never.Wait(ctx)
}
