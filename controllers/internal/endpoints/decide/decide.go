package decide

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metadata of the objects that the controller writes.
const (
	labelManagedBy = "endpoints.kubernetes.io/managed-by"
	managedBy      = "endpoint-controller"
	truncated      = "truncated"
)

// Managed reports whether the controller has written the object.
func Managed(endpoints metav1.Object) bool { return endpoints.GetLabels()[labelManagedBy] == managedBy }

// Endpoints returns the Endpoints object that the service should have, or nil if current (nil:
// there is none) needs no change. trigger is the time of the change that leads to the new
// object; zero: unknown.
func Endpoints(service *corev1.Service, account *Account, current *corev1.Endpoints, trigger time.Time) *corev1.Endpoints {
	subsets, over := account.subsets()
	labels := labelsOf(service)
	if current != nil &&
		apiequality.Semantic.DeepEqual(current.Subsets, subsets) &&
		maps.Equal(current.Labels, labels) &&
		(current.Annotations[corev1.EndpointsOverCapacity] == truncated) == over {
		return nil
	}
	desired := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name}}
	if current != nil {
		desired.ObjectMeta = *current.ObjectMeta.DeepCopy()
	}
	desired.Subsets, desired.Labels = subsets, labels
	annotate(desired, corev1.EndpointsOverCapacity, truncated, over)
	annotate(desired, corev1.EndpointsLastChangeTriggerTime, trigger.UTC().Format(time.RFC3339Nano), !trigger.IsZero())
	return desired
}

// labelsOf returns the service's labels and the labels about the object itself.
func labelsOf(service *corev1.Service) map[string]string {
	labels := make(map[string]string, len(service.Labels)+2)
	maps.Copy(labels, service.Labels)
	delete(labels, corev1.IsHeadlessService)
	if service.Spec.ClusterIP == corev1.ClusterIPNone || service.Spec.ClusterIP == "" {
		labels[corev1.IsHeadlessService] = ""
	}
	labels[labelManagedBy] = managedBy
	return labels
}

func annotate(e *corev1.Endpoints, key, value string, set bool) {
	if !set {
		delete(e.Annotations, key)
		return
	}
	if e.Annotations == nil {
		e.Annotations = map[string]string{}
	}
	e.Annotations[key] = value
}
