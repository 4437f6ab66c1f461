package ctrltest

import (
	"context"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Start runs a manager of NewManager until the test ends or stop is called. It returns when
// the caches have synced and the controllers work or wait for the manager to lead. From then
// on, Advance waits for the controllers. A manager that is started with go mgr.Start(ctx)
// instead may begin only after Advance has returned.
//
// stop waits until the manager has ended and returns its error. If the test does not call
// stop, an error of the manager fails the test.
func Start(t testing.TB, mgr manager.Manager) (stop func() error) {
	t.Helper()
	begun := beginning(t, mgr)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	var failure error
	go func() {
		defer close(ended)
		failure = mgr.Start(ctx)
	}()
	end := func() error {
		cancel()
		<-ended
		return failure
	}
	var asked atomic.Bool
	t.Cleanup(func() {
		if err := end(); err != nil && !asked.Load() {
			t.Errorf("the manager ended with: %v", err)
		}
	})
	select {
	case <-begun:
	case <-ended:
		t.Fatalf("the manager ended before its controllers worked: %v", failure)
	}
	return func() error {
		asked.Store(true)
		return end()
	}
}

// beginning returns a channel that is closed when the manager's controllers work or wait for
// the manager to lead.
func beginning(t testing.TB, mgr manager.Manager) <-chan struct{} {
	t.Helper()
	if m, ok := mgr.(interface{ begun() <-chan struct{} }); ok {
		return m.begun()
	}
	begun := make(chan struct{})
	if err := mgr.Add(afterCaches(func() { close(begun) })); err != nil {
		t.Fatalf("starting a manager: %v", err)
	}
	return begun
}

// afterCaches is a runnable that controller-runtime starts when the caches have synced. It
// needs no leader.
type afterCaches func()

// Start calls f.
func (f afterCaches) Start(context.Context) error {
	f()
	return nil
}

// NeedLeaderElection is false.
func (afterCaches) NeedLeaderElection() bool { return false }
