package fault

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/inflight"
)

// Env is what a fault is done to. What calls Run in a cluster on virtual time does so
// with the context of its work (inflight.With), which is not in flight while Run waits.
type Env struct {
	// Cluster is nil if it is not one of ours, but one that Client reaches.
	Cluster *minikcm.Cluster
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Clock   clock.Clock
	Random  *clock.Random
	// Note is told what is done; nil: nobody is.
	Note func(format string, args ...any)
	// Defer is given what takes back a fault that lasts to the end of the scenario. It
	// may be called more than once. Nil: Run then lasts as long as the fault.
	Defer func(takeBack func(ctx context.Context) error)
	// TakeBack calls what takes back a fault whose time is over, or that is interrupted,
	// and may do so again if it fails: taking back what was taken back does nothing. Nil:
	// it is called once.
	TakeBack func(ctx context.Context, takeBack func(ctx context.Context) error) error
	// Holds are shared by the faults of a cluster that may happen at the same time. Nil:
	// of two that break the same thing, the first that is over mends it.
	Holds *Holds
	// Hit is told of each pod that is hit, and of its container if only one is; nil:
	// nobody is.
	Hit func(pod *corev1.Pod, container string)
	// Injected is called when a fault has happened, and before it lasts: of a drain that
	// has no end, when the nodes are drained. Nil: nobody is.
	Injected func()
	// Exempt are the users whose requests the API server's faults do not meet.
	Exempt []string

	// Namespace takes the place of the namespace default of pods; empty: it stays.
	Namespace string

	// drains are those that a budget has not let finish yet.
	drains []*drain
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

// takeBack takes back what was done, also after ctx has ended.
func (e *Env) takeBack(ctx context.Context, undo injected) error {
	ctx = context.WithoutCancel(ctx)
	if e.TakeBack == nil {
		return undo(ctx)
	}
	return e.TakeBack(ctx, undo)
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
