package kubeletsim

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/simulatedcloud"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// errOff means that the instance of a node is stopped or gone, so that its kubelet does not
// register.
var errOff = errors.New("its instance does not run")

// boot finds or creates the instance of a node that is about to register. It fails with errOff if
// the instance does not run. Without a cloud, and for a Node of another cloud, it does nothing.
//
// The state is read once more after the node knows its instance, since the informer's events are
// ignored until then:
//
//	T1 boot reads that the instance runs
//	T2 a client stops the instance; the event is for no instance that the node has
//	T3 boot sets the instance
func (k *nodeManager) boot(unbound context.Context, n *nodes.Node, now time.Time) error {
	if k.opts.Cloud == nil {
		return nil
	}
	object, err := k.opts.Client.CoreV1().Nodes().Get(k.asNode(unbound, n.Name), n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		object, err = nil, nil
	}
	if err != nil {
		return err
	}
	if object != nil && object.Spec.ProviderID != "" && !simulatedcloud.IsProviderID(object.Spec.ProviderID) {
		n.SetInstance(simulatedcloud.Instance{})
		k.wakePods(n.Name)
		return nil
	}
	if err := k.findInstance(unbound, n, object, now); err != nil {
		return fmt.Errorf("finding its instance in the cloud: %w", err)
	}
	if !n.Reachable() {
		return errOff
	}
	k.wakePods(n.Name)
	return nil
}

// findInstance sets the instance of a node with the given Node, or nil if there is none.
func (k *nodeManager) findInstance(ctx context.Context, n *nodes.Node, object *corev1.Node, now time.Time) error {
	instances := k.opts.Cloud.CoreV1().ConfigMaps(simulatedcloud.Namespace)
	stated := ""
	if object != nil {
		stated = object.Spec.ProviderID
	}
	c, err := instances.Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && stated == "" {
		made := n.InstanceFor(object, now)
		c, err = k.createInstance(ctx, &made)
	}
	if apierrors.IsNotFound(err) {
		n.Gone(stated)
		return nil
	}
	if err != nil {
		return err
	}
	i, ok := simulatedcloud.InstanceOf(c)
	switch {
	case !ok:
		return fmt.Errorf("the ConfigMap %s/%s is no instance", c.Namespace, c.Name)
	case stated != "" && i.ProviderID != stated:
		n.Gone(stated)
		return nil
	}
	n.SetInstance(i)
	switch c, err = instances.Get(ctx, n.Name, metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		n.SetPower(i.ProviderID, false)
	case err != nil:
		return err
	default:
		now, _ := simulatedcloud.InstanceOf(c)
		n.SetPower(i.ProviderID, now.ProviderID == i.ProviderID && !now.Stopped)
	}
	return nil
}

// createInstance creates an instance, and the namespace of the cloud if it does not exist.
func (k *nodeManager) createInstance(ctx context.Context, i *simulatedcloud.Instance) (*corev1.ConfigMap, error) {
	instances := k.opts.Cloud.CoreV1().ConfigMaps(simulatedcloud.Namespace)
	c, err := instances.Create(ctx, i.ConfigMap(), metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: simulatedcloud.Namespace}}
		if _, err := k.opts.Cloud.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating the namespace of the cloud: %w", err)
		}
		c, err = instances.Create(ctx, i.ConfigMap(), metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		return instances.Get(ctx, i.Name, metav1.GetOptions{})
	}
	return c, err
}

// terminate deletes the instance of a node whose Node was deleted, since the machine has ended.
func (k *nodeManager) terminate(ctx context.Context, n *nodes.Node) error {
	if k.opts.Cloud == nil || n == nil || n.Instance().ProviderID == "" {
		return nil
	}
	instances := k.opts.Cloud.CoreV1().ConfigMaps(simulatedcloud.Namespace)
	c, err := instances.Get(ctx, n.Name, metav1.GetOptions{})
	if err == nil {
		if i, ok := simulatedcloud.InstanceOf(c); !ok || i.ProviderID != n.Instance().ProviderID {
			return nil
		}
		err = instances.Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &c.UID}})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the instance of node %s: %w", n.Name, err)
	}
	return nil
}

// observeInstance follows a change of an instance, which exists or was deleted.
func (k *nodeManager) observeInstance(c *corev1.ConfigMap, exists bool) {
	if k.opts.Cloud == nil {
		return
	}
	i, ok := simulatedcloud.InstanceOf(c)
	on := exists && !i.Stopped
	n := k.nodes.Get(c.Name)
	if !ok || n == nil || !n.SetPower(i.ProviderID, on) {
		return
	}
	if !on {
		k.due.Set(nodeKey(n.Name), time.Time{})
		if n.Elided.On.Load() || n.Renewal.Elided.On.Load() {
			k.loop.Add(nodeKey(n.Name)) // which writes what was sent before
		}
		return
	}
	k.rebootPods(n.Name)
	k.attaching.releaseLost(n)
	k.wakeNode(n.Name)
}
