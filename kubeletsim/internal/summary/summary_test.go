package summary

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func example() *Node {
	began := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	start := metav1.NewTime(began)
	pod := func(name string, volumes ...corev1.Volume) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: "u-" + "1"}, Spec: corev1.PodSpec{Volumes: volumes}, Status: corev1.PodStatus{StartTime: &start}}
	}
	emptyDir := func(name string, medium corev1.StorageMedium) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium}}}
	}
	amounts := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1000"), corev1.ResourceEphemeralStorage: resource.MustParse("10k")}
	return &Node{
		Name: "node-0", Since: began, At: began.Add(time.Minute), CPU: time.Minute, Capacity: amounts, Allocatable: amounts, ImageBytes: 500,
		Pods: []Pod{
			{Object: pod("z", emptyDir("cache", ""), emptyDir("tmp", corev1.StorageMediumMemory)), Volumes: map[string]int64{"tmp": 7, "cache": 20}, Containers: []Container{
				{Name: "b", Since: began, Cores: 0.5, CPU: 30 * time.Second, Memory: 100, Disk: 3},
				{Name: "a", Since: began, Cores: 0.25, CPU: 15 * time.Second, Memory: 200},
			}},
			{Object: pod("a"), Containers: []Container{{Name: "c", Since: began, Memory: 900}}},
		},
	}
}

func TestSummary(t *testing.T) {
	s := Of(example())
	got, err := json.Marshal(s.Node)
	if err != nil {
		t.Fatal(err)
	}
	// The pods use more memory than there is, which leaves none. Volumes in memory take no disk.
	for _, want := range []string{
		`"cpu":{"time":"2026-01-05T00:01:00Z","usageNanoCores":750000000,"usageCoreNanoSeconds":60000000000}`, `"memory":{"time":"2026-01-05T00:01:00Z","availableBytes":0,"usageBytes":1200,`,
		`"fs":{"time":"2026-01-05T00:01:00Z","availableBytes":9477,"capacityBytes":10000,"usedBytes":523}`, `"imageFs":{"time":"2026-01-05T00:01:00Z","availableBytes":9477,"capacityBytes":10000,"usedBytes":500}`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	pod := s.Pods[1]
	switch {
	case s.Pods[0].PodRef.Name != "a" || pod.PodRef.Name != "z" || pod.Containers[0].Name != "a":
		t.Errorf("the order is %s, %s", s.Pods[0].PodRef.Name, pod.PodRef.Name)
	case *pod.CPU.UsageNanoCores != 750e6 || *pod.CPU.UsageCoreNanoSeconds != 45e9 || *pod.EphemeralStorage.UsedBytes != 23:
		t.Errorf("the pod uses %d, %d, %d", *pod.CPU.UsageNanoCores, *pod.CPU.UsageCoreNanoSeconds, *pod.EphemeralStorage.UsedBytes)
	case len(pod.VolumeStats) != 2 || pod.VolumeStats[0].Name != "cache" || *pod.VolumeStats[0].UsedBytes != 20:
		t.Errorf("the volumes are %v", pod.VolumeStats)
	}
}

func TestOnlyCPUAndMemory(t *testing.T) {
	s := Of(example())
	OnlyCPUAndMemory(s)
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"usedBytes", "runtime", "volume"} {
		if strings.Contains(string(got), absent) {
			t.Errorf("%s\nhas %s", got, absent)
		}
	}
	if s.Node.Memory == nil || s.Pods[1].Containers[0].CPU == nil {
		t.Error("CPU or memory is missing")
	}
}
