package podautoscaler

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/scales"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "horizontal-pod-autoscaler-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"horizontalpodautoscaling"}, Account: "horizontal-pod-autoscaler",
		About:   "keeps the size of what HorizontalPodAutoscalers point at",
		Watches: []string{"horizontalpodautoscalers", "pods"},
		Writes:  []string{"every resource with a scale subresource", "horizontalpodautoscalers/status"},
		Docs:    "tasks/run-application/horizontal-pod-autoscale/",
		Concurrency: controller.Concurrency{Flag: "concurrent-horizontal-pod-autoscaler-syncs", What: "autoscalers", In: func(s *controller.Settings) *int32 {
			return &s.HPAController.ConcurrentHorizontalPodAutoscalerSyncs
		}},
		Defaults: defaults, Flags: flags,
		Build: build,
	}
}

func build(p *controller.Parts) error {
	reached, err := scales.New(p.Config)
	if err != nil {
		return err
	}
	reader, err := newReader(p.Config, reached.Mapper)
	if err != nil {
		return err
	}
	opts := options(p.Settings)
	autoscalers, pods := p.Informers.HorizontalPodAutoscalers(), p.Informers.Pods()
	r := &reconciler{
		opts: opts, clock: p.Clock, autoscalers: autoscalers.Lister(), pods: pods.Lister(), targets: targets{reached}, reader: reader,
		executor: executor.Executor{
			Kind:   autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
			Writer: executor.NewWriter(p.Client), Recorder: p.Recorder.For("horizontal-pod-autoscaler"),
		},
		known: map[types.NamespacedName]*remembered{},
	}
	period := opts.Completed().SyncPeriod
	loopOptions := p.Options()
	// Failures included, each autoscaler is reconciled once per period.
	loopOptions.BaseDelay, loopOptions.MaxDelay = period, period
	l := loop.New(loopOptions, r)
	p.Go(l.Run)
	l.Watch(autoscalers.Informer(), func(ev loop.Event) []types.NamespacedName {
		if actsAtOnce(ev) {
			return loop.Self(ev)
		}
		l.AddAfter(loop.KeyOf(ev.Object), period)
		return nil
	})
	l.Watch(pods.Informer(), loop.None)
	return nil
}

// actsAtOnce reports whether an event needs a reconcile before the end of the period. A new
// autoscaler, a changed spec and a deleted autoscaler, which Reconcile forgets, need one. A changed
// status does not, because the controller writes it itself.
func actsAtOnce(ev loop.Event) bool {
	return ev.Type != loop.Updated || ev.Old == nil || ev.Old.GetGeneration() != ev.Object.GetGeneration()
}
