package simulatedingress

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/network/routes"
)

// served reports whether a class is one of the simulated router.
func served(class *networkingv1.IngressClass) bool {
	return class.Spec.Controller == routes.Controller && class.DeletionTimestamp == nil
}

// serviceOf returns the Service that leads to the router of a class. The garbage collector deletes it with the class.
func serviceOf(class *networkingv1.IngressClass) *corev1.Service {
	router := routes.Router{Name: class.Name}
	name := router.Service()
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, Annotations: map[string]string{routes.Annotation: router.Value()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(class, networkingv1.SchemeGroupVersion.WithKind("IngressClass"))},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: ptr.To(true), IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack),
			Ports: []corev1.ServicePort{
				{Name: "http", Port: routes.HTTPPort, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP},
				{Name: "https", Port: routes.HTTPSPort, TargetPort: intstr.FromString("https"), Protocol: corev1.ProtocolTCP},
			},
		},
	}
}

// addressesOf returns the status of the Ingresses whose router a Service leads to. The Service may be nil.
func addressesOf(service *corev1.Service) []networkingv1.IngressLoadBalancerIngress {
	if service == nil {
		return nil
	}
	var list []networkingv1.IngressLoadBalancerIngress
	for _, point := range service.Status.LoadBalancer.Ingress {
		list = append(list, networkingv1.IngressLoadBalancerIngress{IP: point.IP, Hostname: point.Hostname})
	}
	return list
}
