package simulatedingress

import (
	"crypto/tls"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// certificateProblems returns why the hosts of an Ingress get the router's default certificate, which no client trusts. get returns a
// Secret of the Ingress's namespace; nil if it does not exist.
func certificateProblems(i *networkingv1.Ingress, get func(name string) *corev1.Secret) []string {
	var problems []string
	for _, given := range i.Spec.TLS {
		if given.SecretName == "" {
			continue // it asks for the default certificate
		}
		why := "does not exist"
		if secret := get(given.SecretName); secret != nil {
			_, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
			if err == nil {
				continue
			}
			why = "has no certificate with its key: " + err.Error()
		}
		hosts := "all hosts"
		if len(given.Hosts) > 0 {
			hosts = strings.Join(given.Hosts, ", ")
		}
		problems = append(problems, fmt.Sprintf("Secret %s/%s %s: the router presents its default certificate, which no client trusts, for %s", i.Namespace, given.SecretName, why, hosts))
	}
	return problems
}

// secretsOf returns the names of the Secrets of an Ingress.
func secretsOf(i *networkingv1.Ingress) []types.NamespacedName {
	var names []types.NamespacedName
	for _, given := range i.Spec.TLS {
		if given.SecretName != "" {
			names = append(names, types.NamespacedName{Namespace: i.Namespace, Name: given.SecretName})
		}
	}
	return names
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
