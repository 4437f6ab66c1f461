package resources

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// Bootstrap returns the objects that every apiserver creates at start, as a client
// would send them, in an order in which they can be created.
func Bootstrap() []runtime.Object {
	return []runtime.Object{
		bootstrapNamespace(metav1.NamespaceSystem),
		bootstrapNamespace(metav1.NamespacePublic),
		bootstrapNamespace(corev1.NamespaceNodeLease),
		bootstrapNamespace(metav1.NamespaceDefault),
		&schedulingv1.PriorityClass{
			ObjectMeta:  metav1.ObjectMeta{Name: validation.SystemNodeCritical},
			Value:       validation.SystemNodeCriticalValue,
			Description: "Used for system critical pods that must not be moved from their current node.",
		},
		&schedulingv1.PriorityClass{
			ObjectMeta:  metav1.ObjectMeta{Name: validation.SystemClusterCritical},
			Value:       validation.SystemClusterCriticalValue,
			Description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
		},
	}
}

func bootstrapNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
