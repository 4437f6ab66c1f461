package informerstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// Watches are the resources that have been watched through a fake clientset.
type Watches struct {
	mu     sync.Mutex
	begun  map[string]bool
	change chan struct{}
}

// Observe returns the watches that begin from now on. The informers must not run yet.
func Observe(fake *clienttesting.Fake) *Watches {
	w := &Watches{begun: map[string]bool{}, change: make(chan struct{})}
	// The fake runs one action at a time: another action of the clientset waits until the watch has
	// begun, although this reactor runs before that.
	fake.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w.begin(action.GetResource().Resource)
		return false, nil, nil
	})
	return w
}

func (w *Watches) begin(resource string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun[resource] = true
	close(w.change)
	w.change = make(chan struct{})
}

// Wait returns when each of the resources, as "pods", has been watched. It returns an error that
// names the others if ctx ends before.
func (w *Watches) Wait(ctx context.Context, resources ...string) error {
	for {
		missing, change := w.without(resources)
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("waiting for watches of %s: %w", strings.Join(missing, ", "), ctx.Err())
		}
	}
}

// without returns the resources that have not been watched, and a channel that is closed by the
// next watch.
func (w *Watches) without(resources []string) (missing []string, change <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	missing = slices.DeleteFunc(slices.Clone(resources), func(resource string) bool { return w.begun[resource] })
	return missing, w.change
}
