package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func TestOOMScoreAdjustment(t *testing.T) {
	const gibibytes = 100
	memory := func(amount string) corev1.ResourceRequirements {
		if amount == "" {
			return corev1.ResourceRequirements{}
		}
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(amount)}}
	}
	pod := func(class corev1.PodQOSClass, level string, requests ...string) *corev1.Pod {
		p := &corev1.Pod{Status: corev1.PodStatus{QOSClass: class}}
		for _, request := range requests {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "c", Resources: memory(request)})
		}
		if level != "" {
			p.Spec.Resources = ptr.To(memory(level))
		}
		return p
	}
	sidecar := func(p *corev1.Pod, request string) *corev1.Pod {
		c := corev1.Container{Name: "sidecar", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), Resources: memory(request)}
		p.Spec.InitContainers = []corev1.Container{c}
		return p
	}
	critical := pod(corev1.PodQOSBurstable, "", "1Gi")
	critical.Spec.Priority = ptr.To[int32](nodeCriticalPriority)
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want int
	}{
		"best effort":                  {pod(corev1.PodQOSBestEffort, "", ""), 1000},
		"guaranteed":                   {pod(corev1.PodQOSGuaranteed, "", "1Gi"), -997},
		"critical":                     {critical, -997},
		"a tenth":                      {pod(corev1.PodQOSBurstable, "", "10Gi"), 900},
		"nothing":                      {pod(corev1.PodQOSBurstable, "", ""), 999},
		"everything":                   {pod(corev1.PodQOSBurstable, "", "100Gi"), 3},
		"a share of the pod":           {pod(corev1.PodQOSBurstable, "30Gi", "10Gi", ""), 800},
		"a sidecar is as safe":         {sidecar(pod(corev1.PodQOSBurstable, "", "20Gi", "10Gi"), ""), 900},
		"a sidecar that requests more": {sidecar(pod(corev1.PodQOSBurstable, "", "20Gi", "10Gi"), "30Gi"), 700},
		"a sidecar with its share":     {sidecar(pod(corev1.PodQOSBurstable, "40Gi", "20Gi"), ""), 700},
	} {
		c := &test.pod.Spec.Containers[0]
		if len(test.pod.Spec.InitContainers) > 0 {
			c = &test.pod.Spec.InitContainers[0]
		}
		if got := OOMScoreAdjustment(test.pod, c, gibibytes<<30); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestHostname(t *testing.T) {
	for name, test := range map[string]struct {
		spec                corev1.PodSpec
		hostname, qualified string
	}{
		"the pod's name":    {corev1.PodSpec{}, "p", ""},
		"its own":           {corev1.PodSpec{Hostname: "h"}, "h", ""},
		"with a domain":     {corev1.PodSpec{Hostname: "h", Subdomain: "s"}, "h", "h.s.ns.svc.cluster.local"},
		"as its full name":  {corev1.PodSpec{Subdomain: "s", SetHostnameAsFQDN: ptr.To(true)}, "p.s.ns.svc.cluster.local", "p.s.ns.svc.cluster.local"},
		"without a domain":  {corev1.PodSpec{SetHostnameAsFQDN: ptr.To(true)}, "p", ""},
		"overridden":        {corev1.PodSpec{Hostname: "h", Subdomain: "s", HostnameOverride: ptr.To("o.example")}, "o.example", ""},
		"of the host":       {corev1.PodSpec{Hostname: "h", Subdomain: "s", HostNetwork: true, NodeName: "n"}, "n", ""},
		"an empty override": {corev1.PodSpec{Hostname: "h", HostnameOverride: ptr.To("")}, "h", ""},
	} {
		pod := &corev1.Pod{Spec: test.spec}
		pod.Name, pod.Namespace = "p", "ns"
		if hostname, qualified := Hostname(pod), FQDN(pod); hostname != test.hostname || qualified != test.qualified {
			t.Errorf("%s: %q and %q", name, hostname, qualified)
		}
	}
}
