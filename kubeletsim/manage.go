package kubeletsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// observeNode queues a Node that is to be simulated and is not yet, and the pods whose volumes have
// been attached. It ignores other events, which are mostly echoes of the kubelets' heartbeats.
//
// A Node that was deleted and created again between two lists of the informer arrives as an
// update with another UID.
func (k *nodeManager) observeNode(obj any) {
	object, ok := obj.(*corev1.Node)
	if !ok {
		return
	}
	k.attaching.observe(object)
	k.statics.offerOn(object.Name)
	k.markChanged(object.Name)
	n := k.nodes.Get(object.Name)
	if n != nil && (n.Reconfigured(object) || k.rules.Load() != nil && n.Demanding()) {
		k.loop.Add(pressureKey(object.Name))
	}
	if !k.manages(object) || k.nodes.Refuses(object) {
		return
	}
	if k.shards != nil {
		k.assigner.observeShared(object)
		return
	}
	if n == nil || n.LoseTo(object.UID) || n.AwaitsRange() && object.Spec.PodCIDR != "" {
		k.loop.Add(nodeKey(object.Name))
	}
}

// loseNode queues a node whose Node was deleted, so that its simulation ends.
func (k *nodeManager) loseNode(obj any) {
	object, ok := obj.(*corev1.Node)
	if !ok {
		return
	}
	k.nodes.Forget(object)
	k.staging.forgetNode(object)
	if table, _ := k.assigner.get(); table != nil {
		table.Forget(object)
		k.loop.Add(assignmentKey(object.Name))
	}
	if n := k.nodes.Get(object.Name); n != nil && n.Lose(object.UID) {
		k.loop.Add(nodeKey(object.Name))
	}
}

// adoptNode starts to simulate the Node of a name that is not simulated yet or whose Node was
// deleted. It returns nil if the Node does not exist, is not to be simulated, or no addresses
// are left. It reads the API, because the informer may be behind.
func (k *nodeManager) adoptNode(ctx context.Context, name string, lost *nodes.Node) (*nodes.Node, error) {
	object, err := k.opts.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("looking for node %s: %w", name, err)
	}
	if err == nil && lost != nil && lost.Regain(object.UID) {
		k.attaching.releaseLost(lost)
		return lost, nil
	}
	if err != nil || !k.manages(object) {
		if err := k.terminate(ctx, lost); err != nil {
			return nil, err
		}
		k.endNode(lost)
		return nil, nil // it is said above
	}
	n, err := k.place(object)
	switch {
	case err != nil:
		k.endNode(lost)
		return nil, k.assigner.refuse(ctx, object, err)
	case n == nil:
		k.endNode(lost)
		return nil, nil // it is said above
	}
	k.settle(n)
	k.relinkNode(n)
	if lost != nil && lost.IsCrashed() {
		k.rebootPods(name)
	}
	k.wakePods(name)
	return n, nil
}

// place adds a node for a Node. It returns nil for a Node of several processes that has no
// addresses yet: observeNode follows.
func (k *nodeManager) place(object *corev1.Node) (*nodes.Node, error) {
	if k.shards == nil {
		return k.nodes.Adopt(object)
	}
	if assigned, ok := nodes.AssignmentOf(object); ok {
		return k.nodes.Place(object, assigned), nil
	}
	return nil, nil // it is said above
}

// settle makes a new node take over the pods already bound to its name, and then opens it to
// others.
func (k *nodeManager) settle(n *nodes.Node) {
	for _, uid := range k.pods.on(n.Name) {
		e := k.pods.get(uid)
		if e == nil {
			continue
		}
		pod, address, holds := e.allocation()
		if !holds {
			continue
		}
		n.Readmit(pod, address)
		if _, gone, _ := e.look(); gone {
			// forgetPod may have run before Readmit.
			n.Release(uid)
			n.ReleaseAddress(address)
		}
	}
	n.Settled()
	k.attaching.releaseLost(n)
	if n.Demands() || n.ImageBytes() > 0 {
		k.loop.Add(pressureKey(n.Name))
	}
}

// endNode ends the simulation of a node whose Node was deleted. Its pods are left to the pod
// garbage collector. The node is dropped with its last pod, so that no other node gets an
// address that a pod still has.
func (k *nodeManager) endNode(n *nodes.Node) {
	if n == nil {
		return
	}
	for _, uid := range k.pods.on(n.Name) {
		k.due.Set(podKey(string(uid)), time.Time{})
	}
	k.dropNode(n)
}

// refuse reports that no addresses are left for a Node, by an event and by its Ready condition,
// so that no pod is scheduled there.
func (a *assigner) refuse(ctx context.Context, object *corev1.Node, why error) error {
	why = fmt.Errorf("%w; this one begins when another is deleted", why)
	if a.shards != nil || a.nodes.Refuse(object) {
		a.opts.Logger.Error(why, "Cannot simulate a node", "node", klog.KObj(object))
		if a.opts.Recorder != nil {
			recorder := a.opts.Recorder.WithSource(corev1.EventSource{Component: Component, Host: object.Name})
			reportNode(recorder, object.Name, object.UID, lifecycle.Event{Kind: corev1.EventTypeWarning, Reason: "CIDRNotAvailable", Message: why.Error()})
		}
	}
	now := metav1.NewTime(a.opts.Clock.Now())
	notReady := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: why.Error(),
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{notReady}}})
	if err != nil {
		return fmt.Errorf("encoding the condition of node %s: %w", object.Name, err)
	}
	_, err = a.opts.Client.CoreV1().Nodes().Patch(ctx, object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the condition of node %s: %w", object.Name, err)
	}
	return nil
}

// errGone means that a Node was deleted while its kubelet registered.
var errGone = errors.New("its Node was deleted")
