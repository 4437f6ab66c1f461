package podgroupprotection

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1beta1"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/protection"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and workers its default.
const (
	Name    = "podgroup-protection-controller"
	workers = 1
)

// finalizer is upstream's finalizer of PodGroups.
const finalizer = "scheduling.k8s.io/podgroup-protection"

// Controller releases PodGroups. Its keys are PodGroups.
type Controller struct {
	client kubernetes.Interface
	groups schedulinglisters.PodGroupLister
	pods   corelisters.PodLister
	loop   loop.Loop
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	groups, pods := e.Informers.PodGroups(), e.Informers.Pods()
	c := &Controller{client: client, groups: groups.Lister(), pods: pods.Lister()}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(groups.Informer(), loop.Self)
	c.loop.Watch(pods.Informer(), wakeForPod)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

// wakeForPod enqueues the group of a pod that has ended or is gone. An update may be the deletion of a pod
// and the creation of another one of the same name.
func wakeForPod(ev loop.Event) []types.NamespacedName {
	var keys []types.NamespacedName
	pod, _ := ev.Object.(*corev1.Pod)
	if pod != nil && (ev.Type == loop.Deleted || ended(pod)) {
		keys = append(keys, groupOf(pod)...)
	}
	if old, ok := ev.Old.(*corev1.Pod); ok && old != nil && pod != nil && old.UID != pod.UID {
		keys = append(keys, groupOf(old)...)
	}
	return keys
}

// groupOf returns the PodGroup of a pod; none if it has none.
func groupOf(pod *corev1.Pod) []types.NamespacedName {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return []types.NamespacedName{{Namespace: pod.Namespace, Name: *g.PodGroupName}}
	}
	return nil
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Reconcile removes the finalizer of a PodGroup that is being deleted, unless a pod of the group runs or waits.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	group, err := c.groups.PodGroups(key.Namespace).Get(key.Name)
	switch {
	case apierrors.IsNotFound(err):
		return loop.Result{}, nil
	case err != nil:
		return loop.Result{}, fmt.Errorf("getting PodGroup %s: %w", key, err)
	case group.DeletionTimestamp == nil || !protection.Has(group, finalizer):
		return loop.Result{}, nil
	}
	pods, err := c.pods.Pods(key.Namespace).List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing the pods in namespace %s: %w", key.Namespace, err)
	}
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !ended(pod) && slices.Contains(groupOf(pod), key) }) {
		return loop.Result{}, nil
	}
	finalizers, _ := protection.Finalizers(group, finalizer, func() bool { return false })
	released := group.DeepCopy()
	released.Finalizers = finalizers
	_, err = c.client.SchedulingV1beta1().PodGroups(key.Namespace).Update(ctx, released, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("removing the finalizer of PodGroup %s: %w", key, err)
	}
	return loop.Result{}, nil
}
