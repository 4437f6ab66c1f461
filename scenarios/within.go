package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/clock"
)

// lister and resourceClient are what checks need of a dynamic client.
type lister interface {
	List(ctx context.Context, opts metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

type resourceClient = dynamic.ResourceInterface

// source is something whose changes a check must look at.
type source struct{ client resourceClient }

// within looks until look is satisfied (nil), at first and after every change of the
// sources, for at most limit of the cluster's time; 0 looks once. The last look is
// taken at the limit itself, so that nothing that happened before it is missed.
func (r *run) within(ctx context.Context, limit time.Duration, sources []source, look func(ctx context.Context) error) error {
	if limit == 0 {
		return look(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, closeAll, err := r.watchAll(ctx, sources)
	if err != nil {
		return err
	}
	defer closeAll()
	expired := make(chan struct{})
	timer := r.cluster.Clock().AfterFunc(limit, func() { close(expired) })
	defer timer.Stop()
	done := make(chan struct{})
	var outcome error
	var looking sync.WaitGroup
	looking.Go(func() {
		defer close(done)
		outcome = r.lookUntil(ctx, limit, changes, expired, look)
	})
	waitErr := r.cluster.Wait(ctx, done)
	if waitErr != nil {
		cancel()
	}
	looking.Wait()
	if outcome != nil {
		return outcome
	}
	return waitErr
}

// lookUntil looks after each change. While it looks, an event is in flight: time
// must not pass before it has seen what there is.
func (r *run) lookUntil(ctx context.Context, limit time.Duration, changes <-chan struct{}, expired <-chan struct{}, look func(ctx context.Context) error) error {
	ledger := r.cluster.Ledger()
	once := func() (bool, error) {
		ledger.Begin(clock.Event, 1)
		defer ledger.End(clock.Event, 1)
		err := look(ctx)
		var d *differs
		return err == nil || !errors.As(err, &d), err
	}
	for {
		final, err := once()
		if final {
			return err
		}
		select {
		case <-changes:
		case <-expired:
			if final, err = once(); final {
				return err
			}
			return fmt.Errorf("not within %v: %w", limit, err)
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// watchAll merges the changes of all sources into one signal.
func (r *run) watchAll(ctx context.Context, sources []source) (<-chan struct{}, func(), error) {
	changes := make(chan struct{}, 1)
	var watchers []watch.Interface
	var reading sync.WaitGroup
	closeAll := func() {
		for _, w := range watchers {
			w.Stop()
		}
		reading.Wait()
	}
	for _, s := range sources {
		w, err := s.client.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("watching: %w", err)
		}
		watchers = append(watchers, w)
		reading.Go(func() {
			for range w.ResultChan() {
				select {
				case changes <- struct{}{}:
				default:
				}
			}
		})
	}
	return changes, closeAll, nil
}
