package podgroupprotection

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/protection"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/loop"
)

// finalizer is upstream's finalizer of PodGroups.
const finalizer = "scheduling.k8s.io/podgroup-protection"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: "podgroup-protection-controller", Gate: featuregates.GenericWorkload, Account: "podgroup-protection-controller",
		About:   "keeps PodGroups that are being deleted until their pods have ended",
		Watches: []string{"podgroups", "pods"}, Writes: []string{"podgroups"},
		Docs:  "concepts/scheduling-eviction/gang-scheduling/",
		Build: build,
	}
}

// Controller releases PodGroups. Its keys are PodGroups.
type Controller struct {
	client kubernetes.Interface
	pods   corelisters.PodLister
}

func build(p *controller.Parts) error {
	groups, pods := p.Informers.PodGroups(), p.Informers.Pods()
	c := &Controller{client: p.Client, pods: pods.Lister()}
	l := p.Loop(controller.Each(groups.Informer(), c.reconcile))
	l.Watch(groups.Informer(), loop.Self)
	l.Watch(pods.Informer(), wakeForPod)
	return nil
}

// wakeForPod enqueues the group of a pod that has ended or is gone. An update may be the deletion of a pod
// and the creation of another one of the same name.
func wakeForPod(ev loop.Event) []types.NamespacedName {
	var keys []types.NamespacedName
	pod, _ := ev.Object.(*corev1.Pod)
	if pod != nil && (ev.Type == loop.Deleted || controllerref.Ended(pod)) {
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

// reconcile removes the finalizer of a PodGroup that is being deleted, unless a pod of the group runs or waits.
func (c *Controller) reconcile(ctx context.Context, group *schedulingv1beta1.PodGroup) (loop.Result, error) {
	if group.DeletionTimestamp == nil || !protection.Has(group, finalizer) {
		return loop.Result{}, nil
	}
	key := loop.KeyOf(group)
	pods, err := c.pods.Pods(key.Namespace).List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing the pods in namespace %s: %w", key.Namespace, err)
	}
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !controllerref.Ended(pod) && slices.Contains(groupOf(pod), key) }) {
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
