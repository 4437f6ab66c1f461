package resources

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The two priorities that the system's own pods run with. Users' classes stay
// below HighestUserPriority.
const (
	HighestUserPriority         int32 = 1_000_000_000
	SystemClusterCritical             = "system-cluster-critical"
	SystemClusterCriticalValue        = 2 * HighestUserPriority
	SystemNodeCritical                = "system-node-critical"
	SystemNodeCriticalValue           = SystemClusterCriticalValue + 1000
	kubernetesServiceIP               = "10.96.0.1"
	kubernetesServiceTargetPort       = 6443
)

// Bootstrap returns the objects that an apiserver creates at its start, as a
// client would send them, in the order in which they can be created.
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
		kubernetesService(),
	}
}

func bootstrapNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// kubernetesService is how pods find the apiserver.
func kubernetesService() *corev1.Service {
	singleStack := corev1.IPFamilyPolicySingleStack
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:      "kubernetes",
			Namespace: metav1.NamespaceDefault,
			Labels:    map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			Type:            corev1.ServiceTypeClusterIP,
			ClusterIP:       kubernetesServiceIP,
			ClusterIPs:      []string{kubernetesServiceIP},
			IPFamilies:      []corev1.IPFamily{corev1.IPv4Protocol},
			IPFamilyPolicy:  &singleStack,
			SessionAffinity: corev1.ServiceAffinityNone,
			Ports: []corev1.ServicePort{{
				Name:       "https",
				Protocol:   corev1.ProtocolTCP,
				Port:       443,
				TargetPort: intstr.FromInt32(kubernetesServiceTargetPort),
			}},
		},
	}
}
