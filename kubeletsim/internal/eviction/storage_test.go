package eviction

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// emptyDir adds a volume; no limit if that is empty.
func emptyDir(name, limit string, medium corev1.StorageMedium) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		source := &corev1.EmptyDirVolumeSource{Medium: medium}
		if limit != "" {
			quantity := resource.MustParse(limit)
			source.SizeLimit = &quantity
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: source}})
	}
}

// TestStoredFiles: data that a pod has written counts against the limits of its volumes, its
// containers and the pod, and as usage of the node's disk.
func TestStoredFiles(t *testing.T) {
	const mib = 1 << 20
	now := start.Add(time.Minute)
	tests := []struct {
		name    string
		change  []func(*corev1.Pod)
		volumes map[string]int64
		root    int64
		want    string
	}{
		{"within", []func(*corev1.Pod){emptyDir("v", "2Mi", "")}, map[string]int64{"v": 2 * mib}, mib, ""},
		{"no limit", []func(*corev1.Pod){emptyDir("v", "", "")}, map[string]int64{"v": 200 * mib}, 300 * mib, ""},
		{"a volume", []func(*corev1.Pod){emptyDir("u", "1Gi", ""), emptyDir("v", "2Mi", "")}, map[string]int64{"u": mib, "v": 3 * mib}, 0, `Usage of EmptyDir volume "v" exceeds the limit "2Mi". `},
		{"in memory", []func(*corev1.Pod){emptyDir("v", "2Mi", corev1.StorageMediumMemory)}, map[string]int64{"v": 3 * mib}, 0, `Usage of EmptyDir volume "v" exceeds the limit "2Mi". `},
		{"the pod", []func(*corev1.Pod){emptyDir("v", "8Mi", ""), limited("ephemeral-storage", "4Mi")}, map[string]int64{"v": 3 * mib}, 2 * mib, "Pod ephemeral local storage usage exceeds the total limit of containers 4Mi. "},
		{"memory is no disk", []func(*corev1.Pod){emptyDir("v", "8Mi", corev1.StorageMediumMemory), limited("ephemeral-storage", "4Mi")}, map[string]int64{"v": 3 * mib}, 2 * mib, ""},
		{"files and a load", []func(*corev1.Pod){podtest.Annotated("ephemeral-storage", "3Mi"), limited("ephemeral-storage", "4Mi")}, nil, 2 * mib, "Pod ephemeral local storage usage exceeds the total limit of containers 4Mi. "},
		{"a critical pod", []func(*corev1.Pod){emptyDir("v", "2Mi", ""), priority(systemCriticalPriority)}, map[string]int64{"v": 3 * mib}, 0, ""},
		{"the node", []func(*corev1.Pod){emptyDir("v", "", "")}, map[string]int64{"v": 9 << 30}, 512 * mib, "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 512Mi. Container app was using 512Mi, request is 0, has larger consumption of ephemeral-storage. "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := using("a", "0", tt.change...)
			pod.Store(tt.volumes, map[string]int64{"app": tt.root, "other": 1 << 40})
			n, p := nodeOf(pod), defaults(t)
			got := ""
			if plan := Next(p, n, &State{}, now); plan.Look && plan.At.Sub(now) <= Interval {
				_, out := Step(p, n, State{}, plan.At)
				for _, e := range out.Evictions {
					got += e.Message
				}
			} else if !plan.At.IsZero() {
				t.Errorf("a look is planned at %v", plan.At.Sub(now))
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestContainerLimit: of two containers, one exceeds its own limit.
func TestContainerLimit(t *testing.T) {
	object := podtest.Pod("a", "n", limited("ephemeral-storage", "4Mi"), func(pod *corev1.Pod) {
		second := *pod.Spec.Containers[0].DeepCopy()
		second.Name, second.Resources.Limits = "second", podtest.Resources("ephemeral-storage", "1Mi")
		pod.Spec.Containers = append(pod.Spec.Containers, second)
	})
	pod := NewPod(object, false)
	for i := range object.Spec.Containers {
		pod.Containers = append(pod.Containers, NewStoringContainer(&object.Spec.Containers[i], start))
	}
	pod.Store(nil, map[string]int64{"app": 1 << 20, "second": 2 << 20})
	if got := pod.exceeded(start); !pod.canExceed() || got != `Container second exceeded its local ephemeral storage limit "1Mi". ` {
		t.Errorf("%q", got)
	}
	if !LimitsStorage(object) || LimitsStorage(podtest.Pod("b", "n", emptyDir("v", "", ""))) || !LimitsStorage(podtest.Pod("c", "n", emptyDir("v", "1Mi", ""))) {
		t.Error("LimitsStorage")
	}
	if strings.Contains(pod.exceeded(start), "Pod ") {
		t.Error("the pod's total limit is not exceeded")
	}
}
