package kubeletsim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// Fence returns the context of requests that must fail once another process has taken over.
type Fence func(context.Context) context.Context

// shards are the parts of the nodes that this process simulates, if several processes simulate
// the nodes of one cluster together. A nil *shards stands for all nodes.
type shards struct {
	of func(node string) int

	mu sync.Mutex
	// held are the fences of this process's shards.
	held map[int]Fence
	// leaving are the keys of lost shards that have not been dropped yet.
	leaving map[int]*departure
}

type departure struct {
	keys map[key]bool
	done chan struct{}
}

func newShards(of func(node string) int) *shards {
	if of == nil {
		return nil
	}
	return &shards{of: of, held: map[int]Fence{}, leaving: map[int]*departure{}}
}

// enter returns the context of work for a node; false if another process simulates it.
func (s *shards) enter(ctx context.Context, node string) (context.Context, bool) {
	if s == nil {
		return ctx, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fence, ok := s.held[s.of(node)]
	if !ok {
		return ctx, false
	}
	return fence(ctx), true
}

// owns reports whether this process simulates a node.
func (s *shards) owns(node string) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.held[s.of(node)]
	return ok
}

// dropped records that nothing is left of a key of a lost shard.
func (s *shards) dropped(key key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.leaving {
		d.drop(key)
	}
}

func (d *departure) drop(key key) {
	if !d.keys[key] {
		return
	}
	delete(d.keys, key)
	if len(d.keys) == 0 {
		close(d.done)
	}
}

// Gain makes this process simulate the nodes of the given shards, which no other process
// simulates any more. The pods that ran there go on as after a restart. It returns an error if
// it cannot read the pods; then nothing has changed.
//
// What the former owner wrote must be seen before anything is done, or a pod would start twice:
//
//	T1 A writes that pod P runs, at revision 95
//	T2 B takes the shard over at revision 96; its informer has only delivered revision 90
//	T3 B adopts P as Pending, and starts it again
//
// Therefore Gain lists the pods. The list is at revision 96 or later, and A's later writes fail.
func (k *Kubelets) Gain(ctx context.Context, fences map[int]Fence) error {
	select {
	case <-k.begun:
	case <-ctx.Done():
		return ctx.Err()
	}
	k.pods.expectList()
	pods, err := k.opts.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the pods of nodes that are taken over: %w", err)
	}
	changed := k.pods.takeList(pods.Items)
	s := k.shards
	s.mu.Lock()
	for shard, fence := range fences {
		s.held[shard] = fence
	}
	s.mu.Unlock()
	// Those of the new shards follow with their nodes; the others may be on a node that this process
	// has had for long.
	for _, pod := range changed {
		k.offer(pod)
	}
	// A Node that the informer delivers from now on is queued by observeNode.
	existing, err := k.nodeLister.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing the nodes that are taken over: %w", err)
	}
	for _, object := range existing {
		if _, ok := fences[s.of(object.Name)]; ok && k.manages(object) {
			k.loop.Add(nodeKey(object.Name))
		}
	}
	return nil
}

// Lose ends the simulation of the nodes of a shard, without writing anything, and returns when
// it has ended, or ctx. Calls for one shard must not overlap.
//
// A worker that syncs a key when Lose begins finishes, because Lose queues the key once more:
// the worker that takes it then drops what is simulated.
func (k *Kubelets) Lose(ctx context.Context, shard int) {
	d := &departure{keys: map[key]bool{}, done: make(chan struct{})}
	s := k.shards
	s.mu.Lock()
	delete(s.held, shard)
	for _, name := range append(k.nodes.Names(), k.nodeNames()...) { // a worker may be adopting one
		if s.of(name) == shard {
			d.keys[nodeKey(name)], d.keys[leaseKey(name)] = true, true
		}
	}
	for _, uid := range k.pods.all() {
		if e := k.pods.get(uid); e != nil && s.of(e.node) == shard {
			d.keys[podKey(string(uid))] = true
		}
	}
	keys := make([]key, 0, len(d.keys))
	for key := range d.keys {
		keys = append(keys, key)
	}
	s.leaving[shard] = d
	s.mu.Unlock()
	if len(keys) == 0 {
		close(d.done)
	}
	for _, key := range keys {
		k.loop.Add(key)
	}
	select {
	case <-d.done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	delete(s.leaving, shard)
	s.mu.Unlock()
}

// enter returns the context of work with a pod or a node. It returns false, and drops what was simulated, if another process simulates it.
func (k *Kubelets) enter(ctx context.Context, key key) (context.Context, bool) {
	if k.shards == nil {
		return ctx, true
	}
	node := key.id
	if key.kind == ofPod {
		e := k.pods.get(types.UID(key.id))
		if e == nil {
			k.shards.dropped(key)
			return ctx, false
		}
		node = e.node
	}
	ctx, owned := k.shards.enter(ctx, node)
	if !owned {
		k.drop(key)
		k.shards.dropped(key)
	}
	return ctx, owned
}

// drop ends the simulation of a pod or a node that another process simulates.
func (k *Kubelets) drop(key key) {
	k.due.Set(key, time.Time{})
	switch key.kind {
	case ofNode:
		k.nodes.Withdraw(key.id, "")
		return
	case ofLease:
		return
	}
	e := k.pods.get(types.UID(key.id))
	if e == nil {
		return
	}
	pod, gone, _ := e.look()
	if gone {
		k.pods.remove(pod.UID)
		k.assigner.free(e.node)
	} else if e.known {
		k.pods.renew(e)
	}
	if !e.known {
		return
	}
	e.showEnd(k.opts.Clock.Now())
	e.files.Free()
	if e.lacking {
		k.supplies.forget(pod.UID)
	}
}

// declare creates the Nodes of the options that do not exist.
func (k *Kubelets) declare(ctx context.Context) error {
	for _, spec := range nodes.Specs(k.opts.Nodes, k.opts.Node, k.opts.Pools) {
		if _, err := k.nodeLister.Get(spec.Name); err == nil {
			continue
		}
		declared := nodes.Declared(&spec)
		if k.opts.Cloud != nil {
			declared.Spec.Taints = append(slices.Clone(declared.Spec.Taints), nodes.Uninitialized())
		}
		_, err := k.create(ctx, declared)
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating node %s: %w", spec.Name, err)
		}
	}
	return nil
}
