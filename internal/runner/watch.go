package runner

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// staleness says that files may have to be written again.
type staleness struct{ yes atomic.Bool }

func (s *staleness) set()       { s.yes.Store(true) }
func (s *staleness) take() bool { return s.yes.Swap(false) }

// watch follows what the command depends on, until stop is called.
func (r *runner) watch(ctx context.Context) (stop func(), err error) {
	factory := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithNamespace(r.opts.Namespace))
	core, apps := factory.Core().V1(), factory.Apps().V1()
	r.deployments, r.sets = apps.Deployments().Lister(), apps.ReplicaSets().Lister()
	r.pods, r.services = core.Pods().Lister(), core.Services().Lister()
	every := func(any) { r.poke() }
	filesChanged := func(any) {
		r.stale.set()
		r.poke()
	}
	for informer, react := range map[cache.SharedIndexInformer]func(any){
		apps.Deployments().Informer(): every, apps.ReplicaSets().Informer(): every, core.Services().Informer(): every, core.Pods().Informer(): every,
		core.Secrets().Informer(): filesChanged, core.ConfigMaps().Informer(): filesChanged,
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: react, DeleteFunc: react, UpdateFunc: func(old, now any) {
				if before, ok := old.(*corev1.Pod); ok && !sameMetadata(before, now) {
					filesChanged(now) // of the downward API
				}
				react(now)
			},
		}); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	factory.Start(ctx.Done())
	stop = func() {
		cancel()
		factory.Shutdown()
	}
	for _, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			stop()
			return nil, errors.New("the cluster cannot be watched")
		}
	}
	return stop, nil
}

func sameMetadata(before *corev1.Pod, now any) bool {
	after, ok := now.(*corev1.Pod)
	return ok && maps.Equal(before.Labels, after.Labels) && maps.Equal(before.Annotations, after.Annotations)
}
