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

// The ways, in the order in which they came.
const (
	Polling = "polling"
	Own     = "informer"
	Shared  = "shared"
	Custom  = "custom"
)

// Env is where it is done.
type Env struct {
	Config *rest.Config
	Ledger *clock.Ledger // may be nil
	// Sleep lets so much of the cluster's time pass.
	Sleep func(ctx context.Context, d time.Duration) error
}

// stage is one way, being done.
type stage struct {
	Env
	client kubernetes.Interface

	mu     sync.Mutex
	errs   []error
	ending sync.WaitGroup
}

// Run does the reconcile in one of the ways for d of the cluster's time. It returns what
// went wrong in it, or the cause of ctx's end.
func Run(ctx context.Context, way string, d time.Duration, env Env) error {
	client, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		return fmt.Errorf("making the reconciler's client: %w", err)
	}
	s := &stage{Env: env, client: client}
	if way == Polling {
		return s.poll(ctx, d)
	}
	own, cancel := context.WithCancel(ctx)
	defer s.ending.Wait()
	defer cancel()
	start, known := map[string]func(context.Context) error{Own: s.own, Shared: s.shared, Custom: s.custom}[way]
	if !known {
		return fmt.Errorf("there is no way %q to reconcile", way)
	}
	if err := start(own); err != nil {
		return err
	}
	if err := env.Sleep(ctx, d); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// failed keeps what went wrong in a handler.
func (s *stage) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}
