package loop_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/loop"
)

// A key whose reconcile returned Unsure is retried without an event.
func TestUnsure(t *testing.T) {
	f := newFixture(t, loop.Options{}, func(f *fixture, _ context.Context, _ types.NamespacedName) (loop.Result, error) {
		return loop.Result{Unsure: f.clock.Since(start) < 15*time.Second}, nil
	})
	f.loop.Add(key("x"))
	f.run()
	f.idle()
	f.advance(time.Hour)
	f.expect("x at 0s", "x at 10s", "x at 20s")
}
