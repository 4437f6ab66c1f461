package kubeletsim

import (
	"context"
	"errors"
	"sync"

	"minikcm.dev/minikcm/internal/loop"
)

// loops queues the keys of pods and the keys of nodes apart, each with its own workers: as on a
// real kubelet, a heartbeat does not wait for the pods that were queued before it.
//
//	10,000 pods are bound      10,000 keys of pods are queued, work for 20 s
//	a Lease is due             the key of the node gets a worker at once
//	with one queue             the key would wait 20 s; a few such waits, and the node is NotReady
//
// Both have the same name, so turns on virtual time come in the order of one queue.
type loops struct {
	pods, nodes loop.Typed[key]
}

func newLoops(opts loop.TypedOptions[key], r loop.TypedReconciler[key]) loops {
	return loops{pods: loop.NewTyped(opts, r), nodes: loop.NewTyped(opts, r)}
}

func (l *loops) of(key key) loop.Typed[key] {
	if key.kind == ofPod {
		return l.pods
	}
	return l.nodes
}

// Add queues a key.
func (l *loops) Add(key key) { l.of(key).Add(key) }

// Offer queues a key unless its last sync has seen the current state.
func (l *loops) Offer(key key) { l.of(key).Offer(key) }

// Run syncs keys until ctx ends, and waits for the last syncs.
func (l *loops) Run(ctx context.Context) error {
	var nodes sync.WaitGroup
	var nodesErr error
	nodes.Go(func() { nodesErr = l.nodes.Run(ctx) })
	err := l.pods.Run(ctx)
	nodes.Wait()
	return errors.Join(err, nodesErr)
}

// Close drops the queued keys.
func (l *loops) Close() {
	l.pods.Close()
	l.nodes.Close()
}
