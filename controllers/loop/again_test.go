package loop_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/loop"
)

// A key that asked for it is looked at again though nothing has told of it.
func TestInCase(t *testing.T) {
	f := newFixture(t, loop.Options{}, func(f *fixture, ctx context.Context, _ types.NamespacedName) (loop.Result, error) {
		if f.clock.Since(start) < 15*time.Second {
			loop.InCase(ctx)
		}
		return loop.Result{}, nil
	})
	loop.InCase(t.Context())
	f.loop.Add(key("x"))
	f.run()
	f.idle()
	f.advance(time.Hour)
	f.expect("x at 0s", "x at 10s", "x at 20s")
}
