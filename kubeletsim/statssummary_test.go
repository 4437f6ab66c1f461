package kubeletsim_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestStatsSummary: the summary of a node, through the API server's proxy, has the CPU, the memory
// and the disk of its pods, and on request only the first two. The metrics at /metrics/resource
// agree with it.
func TestStatsSummary(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithVirtualTime())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"minikcm.dev/cpu": "250m", "minikcm.dev/memory": "64Mi", "minikcm.dev/ephemeral-storage": "1Mi"}},
		Spec: corev1.PodSpec{
			NodeName: "node-0", Volumes: []corev1.Volume{{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{
				Name: "main", Image: "nginx", Command: []string{"sh", "-c", "head -c 5000 /dev/zero > /cache/f; sleep infinity"},
				VolumeMounts: []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}},
			}},
		},
	}
	if _, err := c.Client().CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Settle()
	if err := c.Advance(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	get := func(query string) (s stats.Summary) {
		t.Helper()
		request := c.Client().CoreV1().RESTClient().Get().Resource("nodes").Name("node-0").SubResource("proxy").Suffix("stats/summary")
		if query != "" {
			request = request.Param(query, "true")
		}
		data, err := request.DoRaw(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		if len(s.Pods) != 1 || len(s.Pods[0].Containers) != 1 || s.Pods[0].PodRef.Name != "web" {
			t.Fatalf("the pods are %v", s.Pods)
		}
		return s
	}
	s := get("")
	web := s.Pods[0]
	switch {
	case *web.CPU.UsageNanoCores < 200e6 || *web.CPU.UsageNanoCores > 300e6 || *web.CPU.UsageCoreNanoSeconds < 5e9:
		t.Errorf("the pod uses %d nanocores, and has used %d core nanoseconds", *web.CPU.UsageNanoCores, *web.CPU.UsageCoreNanoSeconds)
	case *s.Node.Memory.WorkingSetBytes != *web.Memory.WorkingSetBytes || *web.Memory.WorkingSetBytes < 48<<20:
		t.Errorf("the node uses %d bytes, the pod %d", *s.Node.Memory.WorkingSetBytes, *web.Memory.WorkingSetBytes)
	case *web.EphemeralStorage.UsedBytes < 1<<20+5000 || *s.Node.Fs.UsedBytes != *web.EphemeralStorage.UsedBytes:
		t.Errorf("the pod takes %d bytes of the disk, the node %d", *web.EphemeralStorage.UsedBytes, *s.Node.Fs.UsedBytes)
	case len(web.VolumeStats) != 1 || *web.VolumeStats[0].UsedBytes < 5000:
		t.Errorf("the volumes are %v", web.VolumeStats)
	}
	if s := get("only_cpu_and_memory"); s.Node.Fs != nil || s.Pods[0].EphemeralStorage != nil || s.Node.CPU == nil {
		t.Errorf("with only_cpu_and_memory, the node has %v", s.Node)
	}
	metrics, err := c.Client().CoreV1().RESTClient().Get().Resource("nodes").Name("node-0").SubResource("proxy").Suffix("metrics/resource").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	at := s.Node.CPU.Time.UnixMilli()
	for _, want := range []string{
		fmt.Sprintf(`container_memory_working_set_bytes{container="main",namespace="default",pod="web"} %s %d`, floatOf(*web.Memory.WorkingSetBytes), at),
		fmt.Sprintf(`pod_cpu_usage_seconds_total{namespace="default",pod="web"} %v %d`, float64(*web.CPU.UsageCoreNanoSeconds)/1e9, at),
		fmt.Sprintf(`node_cpu_usage_seconds_total %v %d`, float64(*s.Node.CPU.UsageCoreNanoSeconds)/1e9, at),
		"resource_scrape_error 0",
	} {
		if !strings.Contains(string(metrics), want+"\n") {
			t.Errorf("%s\nlacks %s", metrics, want)
		}
	}
}

// floatOf formats a number as metrics have it.
func floatOf(n uint64) string { return strconv.FormatFloat(float64(n), 'g', -1, 64) }
