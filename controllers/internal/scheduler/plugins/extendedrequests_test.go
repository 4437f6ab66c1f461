package plugins

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// containerWith parses "name=cpu 1 example.com/gpu 2"; a name with "+" is a sidecar's.
func containerWith(spec string) corev1.Container {
	name, requests, _ := strings.Cut(spec, "=")
	c := corev1.Container{Name: strings.TrimSuffix(name, "+")}
	if c.Name != name {
		c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	}
	c.Resources.Requests = st.Quantities(strings.Fields(requests)...)
	return c
}

// TestExtendedRequests makes the requests for a pod's containers, given as init containers, "|" and others.
func TestExtendedRequests(t *testing.T) {
	const gpu, nic = "example.com/gpu", "example.com/nic"
	for name, test := range map[string]struct{ pod, requests, mappings string }{
		"one":                     {"| a=" + gpu + " 2", "container-0-request-0:gpu*2", "a:gpu>container-0-request-0"},
		"after cpu and memory":    {"| a=memory 1Gi " + gpu + " 1 cpu 1", "container-0-request-1:gpu*1", "a:gpu>container-0-request-1"},
		"two containers":          {"| a=" + gpu + " 1; b=cpu 1; c=" + gpu + " 3", "container-0-request-0:gpu*1 container-2-request-0:gpu*3", "a:gpu>container-0-request-0 c:gpu>container-2-request-0"},
		"two resources":           {"| a=" + gpu + " 1 " + nic + " 2", "container-0-request-0:gpu*1 container-0-request-1:nic*2", "a:gpu>container-0-request-0 a:nic>container-0-request-1"},
		"none of it":              {"| a=" + gpu + " 0", "", ""},
		"init within":             {"i=" + gpu + " 1 | a=" + gpu + " 2", "container-1-request-0:gpu*2", "a:gpu>container-1-request-0 i:gpu>container-1-request-0"},
		"init of two":             {"i=" + gpu + " 2 | a=" + gpu + " 1; b=" + gpu + " 1; c=" + gpu + " 1", "container-1-request-0:gpu*1 container-2-request-0:gpu*1 container-3-request-0:gpu*1", "a:gpu>container-1-request-0 b:gpu>container-2-request-0 c:gpu>container-3-request-0 i:gpu>container-1-request-0 i:gpu>container-2-request-0"},
		"init beyond":             {"i=" + gpu + " 3 | a=" + gpu + " 2", "container-0-request-0:gpu*1 container-1-request-0:gpu*2", "a:gpu>container-1-request-0 i:gpu>container-1-request-0 i:gpu>container-0-request-0"},
		"inits share the most":    {"i=" + gpu + " 2; j=" + gpu + " 4 | a=" + gpu + " 1", "container-1-request-0:gpu*3 container-2-request-0:gpu*1", "a:gpu>container-2-request-0 i:gpu>container-2-request-0 i:gpu>container-1-request-0 j:gpu>container-2-request-0 j:gpu>container-1-request-0"},
		"equal inits: the first":  {"i=" + gpu + " 1; j=" + gpu + " 1 | a=cpu 1", "container-0-request-0:gpu*1", "i:gpu>container-0-request-0 j:gpu>container-0-request-0"},
		"a sidecar is no init":    {"s+=" + gpu + " 1 | a=" + gpu + " 1", "container-0-request-0:gpu*1 container-1-request-0:gpu*1", "s:gpu>container-0-request-0 a:gpu>container-1-request-0"},
		"not of earlier sidecars": {"s+=" + gpu + " 2; i=" + gpu + " 1 | a=cpu 1", "container-0-request-0:gpu*2 container-1-request-0:gpu*1", "s:gpu>container-0-request-0 i:gpu>container-1-request-0"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			inits, others, _ := strings.Cut(test.pod, "|")
			for _, spec := range strings.Split(inits, ";") {
				if spec = strings.TrimSpace(spec); spec != "" {
					pod.Spec.InitContainers = append(pod.Spec.InitContainers, containerWith(spec))
				}
			}
			for _, spec := range strings.Split(others, ";") {
				pod.Spec.Containers = append(pod.Spec.Containers, containerWith(strings.TrimSpace(spec)))
			}
			requests, mappings := extendedRequests(pod, []corev1.ResourceName{gpu, nic}, Backed{gpu: "gpu", nic: "nic"})
			var got, mapped []string
			for _, r := range requests {
				got = append(got, fmt.Sprintf("%s:%s*%d", r.Name, r.Exactly.DeviceClassName, r.Exactly.Count))
			}
			for _, m := range mappings {
				mapped = append(mapped, fmt.Sprintf("%s:%s>%s", m.ContainerName, strings.TrimPrefix(m.ResourceName, "example.com/"), m.RequestName))
			}
			if strings.Join(got, " ") != test.requests || strings.Join(mapped, " ") != test.mappings {
				t.Errorf("requests\n%v, want\n%v\nmappings\n%v, want\n%v", got, test.requests, mapped, test.mappings)
			}
		})
	}
}
