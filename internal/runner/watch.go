package runner

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock/informers"
)

// staleness says that files may have to be written again.
type staleness struct{ yes atomic.Bool }

func (s *staleness) set()       { s.yes.Store(true) }
func (s *staleness) take() bool { return s.yes.Swap(false) }

// watch follows the objects that the command depends on, until stop is called.
func (r *runner) watch(ctx context.Context) (stop func(), err error) {
	factory := informers.KindsOf(r.client, nil, informers.WithNamespace(r.opts.Namespace))
	r.deployments, r.sets = factory.Deployments().Lister(), factory.ReplicaSets().Lister()
	r.pods, r.services = factory.Pods().Lister(), factory.Services().Lister()
	every := func(any) { r.poke() }
	filesChanged := func(any) {
		r.stale.set()
		r.poke()
	}
	var synced []cache.DoneChecker
	for informer, react := range map[cache.SharedIndexInformer]func(any){
		factory.Deployments().Informer(): every, factory.ReplicaSets().Informer(): every, factory.Services().Informer(): every, factory.Pods().Informer(): every,
		factory.Secrets().Informer(): filesChanged, factory.ConfigMaps().Informer(): filesChanged,
	} {
		synced = append(synced, informer.HasSyncedChecker())
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
	if !cache.WaitFor(ctx, "", synced...) {
		stop()
		return nil, errors.New("the cluster cannot be watched")
	}
	return stop, nil
}

func sameMetadata(before *corev1.Pod, now any) bool {
	after, ok := now.(*corev1.Pod)
	return ok && maps.Equal(before.Labels, after.Labels) && maps.Equal(before.Annotations, after.Annotations)
}
