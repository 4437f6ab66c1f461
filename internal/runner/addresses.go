package runner

import (
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/hostaddress"
)

// addressesOf returns the value of the annotation that leads a Service to the command: each port
// whose target is a port of the template leads to the same port of this machine, or to that in
// ports. It is empty for a Service that does not select the template's pods.
func addressesOf(service *corev1.Service, template *corev1.PodTemplateSpec, ports map[int32]int32) string {
	if !hostaddress.Selects(service, template.Labels) {
		return ""
	}
	var entries []string
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		target := hostaddress.TargetPort(&template.Spec, port)
		if target == 0 {
			continue
		}
		if other, ok := ports[target]; ok {
			target = other
		}
		entry := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(target)))
		if port.Name != "" {
			entry = port.Name + "=" + entry
		}
		entries = append(entries, entry)
	}
	return strings.Join(entries, ",")
}
