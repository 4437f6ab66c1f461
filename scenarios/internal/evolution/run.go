package evolution

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock"
)

// The ways, in their historical order.
const (
	polling    = "polling"
	byInformer = "informer"
	byShared   = "shared"
	byCustom   = "custom"
)

// ways are all of them.
var ways = []string{polling, byInformer, byShared, byCustom}

// env is the cluster that a way works on.
type env struct {
	config *rest.Config
	ledger *clock.Ledger // nil without virtual time
	// sleep returns when d of the cluster's time has passed.
	sleep func(ctx context.Context, d time.Duration) error
}

// stage is one way while it is run.
type stage struct {
	env
	client kubernetes.Interface

	mu     sync.Mutex
	errs   []error
	ending sync.WaitGroup
}

// run does the reconcile in one of the ways for d of the cluster's time. It returns what
// went wrong in it, or the cause of ctx's end.
func run(ctx context.Context, way string, d time.Duration, e env) error {
	client, err := kubernetes.NewForConfig(e.config)
	if err != nil {
		return fmt.Errorf("making the reconciler's client: %w", err)
	}
	s := &stage{env: e, client: client}
	if way == polling {
		return s.poll(ctx, d)
	}
	own, cancel := context.WithCancel(ctx)
	defer s.ending.Wait()
	defer cancel()
	start, known := map[string]func(context.Context) error{byInformer: s.own, byShared: s.shared, byCustom: s.custom}[way]
	if !known {
		return fmt.Errorf("there is no way %q to reconcile", way)
	}
	if err := start(own); err != nil {
		return err
	}
	if err := e.sleep(ctx, d); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// failed keeps the error of a handler, unless ctx has ended.
func (s *stage) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}
