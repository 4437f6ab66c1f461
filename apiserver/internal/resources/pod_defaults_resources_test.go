package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestPodLevelResources checks what a new pod with resources of its own gets from its containers.
func TestPodLevelResources(t *testing.T) {
	for _, test := range []struct{ what, whole, containers, want string }{
		{"none of its own", ``, `[{resources: {limits: {cpu: "1"}}}]`, ``},
		{"empty", `{}`, `[{resources: {limits: {cpu: "1"}}}]`, `{}`},
		{"requests of containers", `{limits: {cpu: "4"}}`, `[{resources: {requests: {cpu: "1"}}}, {resources: {requests: {cpu: "2"}}}]`, `{limits: {cpu: "4"}, requests: {cpu: "3"}}`},
		{"requests of limits", `{limits: {cpu: "4"}}`, `[{}]`, `{limits: {cpu: "4"}, requests: {cpu: "4"}}`},
		{
			"limits of all containers", `{requests: {cpu: "1"}}`, `[{resources: {limits: {cpu: "1", memory: 1Gi}}}, {resources: {limits: {cpu: "2"}}}]`,
			`{limits: {cpu: "3"}, requests: {cpu: "1", memory: 1Gi}}`,
		},
		{"limits as high as the request", `{requests: {cpu: "5"}}`, `[{resources: {limits: {cpu: "1"}}}]`, `{limits: {cpu: "5"}, requests: {cpu: "5"}}`},
		{
			"huge pages", `{limits: {cpu: "1"}}`, `[{resources: {limits: {hugepages-2Mi: 4Mi}}}, {}]`,
			`{limits: {cpu: "1", hugepages-2Mi: 4Mi}, requests: {cpu: "1", hugepages-2Mi: 4Mi}}`,
		},
		{"another resource", `{limits: {cpu: "1"}}`, `[{resources: {limits: {example.com/dev: "1"}}}]`, `{limits: {cpu: "1"}, requests: {cpu: "1"}}`},
	} {
		pod := podOfYAML(t, test.whole, test.containers)
		defaultPod(pod)
		preparePod(pod)
		if diff := cmp.Diff(podOfYAML(t, test.want, `[]`).Spec.Resources, pod.Spec.Resources); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.what, diff)
		}
	}
}

// TestKeepPodLevelResources checks that an update by a client that does not know the field leaves it.
func TestKeepPodLevelResources(t *testing.T) {
	old := podOfYAML(t, `{limits: {cpu: "4"}}`, `[{}]`)
	for _, test := range []struct{ what, sent, want string }{
		{"omitted", ``, `{limits: {cpu: "4"}}`},
		{"emptied", `{}`, `{}`},
		{"changed", `{limits: {cpu: "5"}}`, `{limits: {cpu: "5"}}`},
	} {
		pod := podOfYAML(t, test.sent, `[{}]`)
		podRow().Strategy.PrepareUpdate(pod, old)
		if diff := cmp.Diff(podOfYAML(t, test.want, `[]`).Spec.Resources, pod.Spec.Resources); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.what, diff)
		}
	}
}

func podOfYAML(t *testing.T, resources, containers string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	text := "spec:\n  containers: " + containers + "\n"
	if resources != "" {
		text += "  resources: " + resources + "\n"
	}
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}
