package resourcequota

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/internal/loop"
)

// quotasFor returns the quotas of a namespace that limit the resources that the evaluator counts.
func (c *Controller) quotasFor(namespace string, evaluator quotav1.Evaluator) []types.NamespacedName {
	return loop.KeysOf(c.quotas.ResourceQuotas(namespace).List, func(q *corev1.ResourceQuota) bool {
		return len(evaluator.MatchingResources(quotav1.ResourceNames(q.Spec.Hard))) > 0
	})
}

// replenished returns the quotas whose usage may decrease with the event of an object.
func (c *Controller) replenished(ev loop.Event, kind string, less func(old, now any) bool) []types.NamespacedName {
	if ev.Type == loop.Added || ev.Type == loop.Updated && !less(ev.Old, ev.Object) {
		return nil
	}
	return c.quotasFor(ev.Object.GetNamespace(), c.registry.Get(schema.ParseGroupResource(kind)))
}

// wakeForPod enqueues quotas for a pod that uses less because it has ended or was resized.
// A pod that is being deleted uses less after its grace period, when its deletion is an
// event too.
func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	return c.replenished(ev, "pods", func(old, now any) bool {
		before, ok := old.(*corev1.Pod)
		after, also := now.(*corev1.Pod)
		return ok && also && (controllerref.Ended(after) && !controllerref.Ended(before) || resized(before, after))
	})
}

func resized(before, after *corev1.Pod) bool {
	if before.Generation == after.Generation {
		return false
	}
	for i := range min(len(before.Spec.Containers), len(after.Spec.Containers)) {
		if !reflect.DeepEqual(before.Spec.Containers[i].Resources, after.Spec.Containers[i].Resources) {
			return true
		}
	}
	return false
}

func (c *Controller) wakeForService(ev loop.Event) []types.NamespacedName {
	return c.replenished(ev, "services", func(old, now any) bool {
		before, ok := old.(*corev1.Service)
		after, also := now.(*corev1.Service)
		return ok && also && (before.Spec.Type != after.Spec.Type || len(before.Spec.Ports) > len(after.Spec.Ports))
	})
}

func (c *Controller) wakeForClaim(ev loop.Event) []types.NamespacedName {
	return c.replenished(ev, "persistentvolumeclaims", func(old, now any) bool {
		before, ok := old.(*corev1.PersistentVolumeClaim)
		after, also := now.(*corev1.PersistentVolumeClaim)
		return ok && also && !reflect.DeepEqual(before.Status, after.Status)
	})
}

// wakeForResourceClaim enqueues quotas for a claim that is gone. The spec of a claim never changes.
func (c *Controller) wakeForResourceClaim(ev loop.Event) []types.NamespacedName {
	return c.replenished(ev, "resourceclaims.resource.k8s.io", func(_, _ any) bool { return false })
}
