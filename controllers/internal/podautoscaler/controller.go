package podautoscaler

import (
	"context"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/podautoscaler/decide"
	"minikcm.dev/minikcm/controllers/internal/scales"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "horizontal-pod-autoscaler-controller"

// defaultWorkers is the number of autoscalers reconciled at once, upstream's default.
const defaultWorkers = 5

// Settings are the controller's settings, with the flags of kube-controller-manager that set
// them.
type Settings struct {
	decide.Options
	// Workers is the number of autoscalers reconciled at once
	// (--concurrent-horizontal-pod-autoscaler-syncs); 0 or less: 5.
	Workers int
}

// Controller sets the size of the targets of autoscalers.
type Controller struct{ loop loop.Loop }

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env, settings Settings) (*Controller, error) {
	client, config, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	reached, err := scales.New(config)
	if err != nil {
		return nil, err
	}
	reader, err := newReader(config, reached.Mapper)
	if err != nil {
		return nil, err
	}
	autoscalers, pods := e.Informers.HorizontalPodAutoscalers(), e.Informers.Pods()
	r := &reconciler{
		opts: settings.Options, clock: e.Clock, autoscalers: autoscalers.Lister(), pods: pods.Lister(), targets: targets{reached}, reader: reader,
		executor: executor.Executor{
			Kind:   autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
			Writer: executor.NewWriter(client), Recorder: e.Recorder.For("horizontal-pod-autoscaler"),
		},
		known: map[types.NamespacedName]*remembered{},
	}
	period := settings.Completed().SyncPeriod
	if settings.Workers <= 0 {
		settings.Workers = defaultWorkers
	}
	loopOptions := e.Loop(Name, settings.Workers)
	// Failures included, each autoscaler is reconciled once per period.
	loopOptions.BaseDelay, loopOptions.MaxDelay = period, period
	l := loop.New(loopOptions, r)
	l.Watch(autoscalers.Informer(), func(ev loop.Event) []types.NamespacedName {
		if actsAtOnce(ev) {
			return loop.Self(ev)
		}
		l.AddAfter(loop.KeyOf(ev.Object), period)
		return nil
	})
	l.Watch(pods.Informer(), loop.None)
	return &Controller{loop: l}, nil
}

// actsAtOnce reports whether an event needs a reconcile before the end of the period. A new
// autoscaler, a changed spec and a deleted autoscaler, which Reconcile forgets, need one. A changed
// status does not, because the controller writes it itself.
func actsAtOnce(ev loop.Event) bool {
	return ev.Type != loop.Updated || ev.Old == nil || ev.Old.GetGeneration() != ev.Object.GetGeneration()
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }
