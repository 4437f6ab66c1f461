package columns

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Service is the Table of core/v1 Services.
func Service() Table {
	spec := corev1.ServiceSpec{}.SwaggerDoc()
	return table(func(s *corev1.Service, now time.Time) []any {
		clusterIP := none
		if len(s.Spec.ClusterIPs) > 0 {
			clusterIP = s.Spec.ClusterIPs[0]
		}
		return []any{
			s.Name,
			string(s.Spec.Type),
			clusterIP,
			externalIP(s),
			servicePorts(s.Spec.Ports),
			age(s.CreationTimestamp, now),
			labels.FormatLabels(s.Spec.Selector),
		}
	},
		nameColumn(),
		text("Type", spec["type"]),
		text("Cluster-IP", spec["clusterIP"]),
		text("External-IP", spec["externalIPs"]),
		text("Port(s)", spec["ports"]),
		ageColumn(),
		wide(text("Selector", spec["selector"])),
	)
}

func externalIP(s *corev1.Service) string {
	external := strings.Join(s.Spec.ExternalIPs, ",")
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return orElse(external, none)
	case corev1.ServiceTypeLoadBalancer:
		balanced := make([]string, 0, len(s.Status.LoadBalancer.Ingress))
		for _, in := range s.Status.LoadBalancer.Ingress {
			balanced = append(balanced, orElse(in.IP, in.Hostname))
		}
		all := append(addressSet(balanced), s.Spec.ExternalIPs...)
		return orElse(strings.Join(all, ","), "<pending>")
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	default:
		return unknown
	}
}

// addressSet sorts addresses and removes empty and duplicate ones.
func addressSet(addresses []string) []string {
	slices.Sort(addresses)
	return slices.DeleteFunc(slices.Compact(addresses), func(a string) bool { return a == "" })
}

func servicePorts(ports []corev1.ServicePort) string {
	pieces := make([]string, 0, len(ports))
	for i := range ports {
		p := &ports[i]
		if p.NodePort > 0 {
			pieces = append(pieces, fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol))
		} else {
			pieces = append(pieces, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
		}
	}
	return orElse(strings.Join(pieces, ","), none)
}
