package kubeletsim

import (
	"context"
	"testing"

	"minikcm.dev/minikcm/internal/loop"
)

// A node's heartbeat is sent while all workers are busy with pods.
func TestHeartbeatsDoNotWaitForPods(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	beaten := make(chan struct{})
	l := newLoops(loop.TypedOptions[key]{Name: Component, Workers: 1}, loop.TypedFunc[key](func(ctx context.Context, key key) (loop.Result, error) {
		if key.kind == ofPod {
			select {
			case <-beaten:
				cancel()
			case <-ctx.Done():
			}
			return loop.Result{}, nil
		}
		close(beaten)
		return loop.Result{}, nil
	}))
	l.Add(podKey("a"))
	l.Add(podKey("b"))
	l.Add(nodeKey("node-0"))
	if err := l.Run(ctx); err != nil {
		t.Fatal(err)
	}
}
