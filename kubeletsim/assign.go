package kubeletsim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// assigner assigns the addresses of all nodes that several processes simulate together. One
// process at a time does so.
type assigner struct {
	*common
	mu sync.Mutex
	// table has the nodes of all processes; nil while another process assigns.
	table *nodes.Table
	fence Fence
}

func (a *assigner) get() (*nodes.Table, Fence) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.table, a.fence
}

// StartAssigning makes this process assign the addresses of nodes, in place of any other. It
// reads from the API the addresses that others have assigned: their later writes fail by their fence.
func (a *assigner) StartAssigning(ctx context.Context, fence Fence) error {
	select {
	case <-a.begun:
	case <-ctx.Done():
		return ctx.Err()
	}
	list, err := a.opts.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the nodes that have addresses: %w", err)
	}
	table := a.opts.newTable()
	for i := range list.Items {
		if assigned, ok := nodes.AssignmentOf(&list.Items[i]); ok {
			table.Place(&list.Items[i], assigned)
		}
	}
	a.mu.Lock()
	a.table, a.fence = table, fence
	a.mu.Unlock()
	slices.SortFunc(list.Items, func(a, b corev1.Node) int { return nodes.ByCreation(&a, &b) })
	for i := range list.Items {
		a.loop.Add(assignmentKey(list.Items[i].Name))
	}
	// A Node that was created after the list, and delivered before there was a table.
	for _, name := range a.nodeNames() {
		a.loop.Add(assignmentKey(name))
	}
	return nil
}

// StopAssigning leaves the assignment of addresses to another process.
func (a *assigner) StopAssigning() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.table, a.fence = nil, nil
}

// sync assigns addresses to a Node that is simulated and has none, or releases the
// addresses of a Node that is gone.
func (a *assigner) sync(ctx context.Context, key key) error {
	table, fence := a.get()
	if table == nil {
		return nil
	}
	name := key.id
	ctx = a.asNode(fence(ctx), name)
	object, err := a.opts.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		if len(a.pods.on(name)) == 0 { // otherwise freeAddresses follows
			for _, refused := range table.Withdraw(name, "") {
				a.loop.Add(assignmentKey(refused))
			}
		}
		return nil
	case err != nil:
		return fmt.Errorf("looking for node %s: %w", name, err)
	case !a.manages(object), a.opts.AwaitPodCIDRs && object.Spec.PodCIDR == "":
		return nil
	}
	assigned, err := table.Assign(object)
	if err != nil {
		if !table.Refuse(object) {
			return nil
		}
		return a.refuse(ctx, object, err)
	}
	if object.Annotations[nodes.AnnotationAddresses] == assigned.String() {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "annotations": map[string]string{nodes.AnnotationAddresses: assigned.String()},
	}})
	if err != nil {
		return fmt.Errorf("encoding the addresses of node %s: %w", name, err)
	}
	_, err = a.opts.Client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("writing the addresses of node %s: %w", name, err)
	}
	return nil
}

// free looks again at a node of which a pod is gone: if its Node is gone too, its
// addresses can be reused.
func (a *assigner) free(node string) {
	if table, _ := a.get(); table == nil || len(a.pods.on(node)) > 0 {
		return
	}
	if _, err := a.nodeLister.Get(node); apierrors.IsNotFound(err) {
		a.loop.Add(assignmentKey(node))
	}
}

// observeShared queues what a Node makes due in this process, one of several: the assignment of its addresses, or its
// kubelet.
func (a *assigner) observeShared(object *corev1.Node) {
	_, assigned := nodes.AssignmentOf(object)
	if table, _ := a.get(); !assigned && table != nil {
		a.loop.Add(assignmentKey(object.Name))
	}
	if !assigned || !a.shards.owns(object.Name) {
		return
	}
	if n := a.nodes.Get(object.Name); n == nil || n.LoseTo(object.UID) {
		a.loop.Add(nodeKey(object.Name))
	}
}
