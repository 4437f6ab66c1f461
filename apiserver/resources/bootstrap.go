package resources

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The priorities of the system's own pods. Users' classes must not exceed
// HighestUserPriority.
const (
	HighestUserPriority        int32 = 1_000_000_000
	SystemClusterCritical            = "system-cluster-critical"
	SystemClusterCriticalValue       = 2 * HighestUserPriority
	SystemNodeCritical               = "system-node-critical"
	SystemNodeCriticalValue          = SystemClusterCriticalValue + 1000
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
			ObjectMeta:  metav1.ObjectMeta{Name: SystemNodeCritical},
			Value:       SystemNodeCriticalValue,
			Description: "Used for system critical pods that must not be moved from their current node.",
		},
		&schedulingv1.PriorityClass{
			ObjectMeta:  metav1.ObjectMeta{Name: SystemClusterCritical},
			Value:       SystemClusterCriticalValue,
			Description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
		},
	}
}

func bootstrapNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
