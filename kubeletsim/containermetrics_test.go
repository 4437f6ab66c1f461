package kubeletsim_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// counters reads the metrics of a node's containers: the values by metric and pod.
func counters(t *testing.T, c *minikcmtest.Cluster, node string) map[string]float64 {
	t.Helper()
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics/cadvisor", nil)
	c.Kubelets().NodeHandler(node).ServeHTTP(answer, request)
	if answer.Code != 200 {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	values := map[string]float64{}
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var value float64
		name, rest, _ := strings.Cut(line, "{")
		labels, number, ok := strings.Cut(rest, "} ")
		_, pod, named := strings.Cut(labels, `pod="`)
		if _, err := fmt.Sscan(number, &value); err != nil || !ok || !named {
			t.Fatalf("%s: %v", line, err)
		}
		values[name+" "+strings.TrimSuffix(pod, `"`)] = value
	}
	return values
}

// TestThrottling: containers that would use more than their limit are throttled; one that its node
// has not enough CPU for is not, nor is one without a limit. Shared loads count, and a restart begins
// anew.
func TestThrottling(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) {
		capacity := func(cpu string) minikcm.NodeSpec {
			return minikcm.NodeSpec{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
		}
		o.Nodes.Pools = []minikcm.Pool{{Name: "large", Count: 1, Node: capacity("16")}, {Name: "small", Count: 1, Node: capacity("1")}}
	}))
	pod := func(name, node, limit, load string) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}, Annotations: map[string]string{}}, Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "nginx"}},
		}}
		if load != "" {
			p.Annotations["minikcm.dev/cpu"] = load
		}
		if limit != "" {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(limit)}
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		}
		if _, err := c.Client().CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "shared", Annotations: map[string]string{"minikcm.dev/load-cpu": "2"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "shared"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := c.Client().CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod("over", "large-0", "1", "2")
	pod("within", "large-0", "1", "500m")
	pod("free", "large-0", "", "3")
	pod("shared", "large-0", "500m", "")
	pod("squeezed", "small-0", "2", "4")
	c.Eventually("the pods to run", func(ctx context.Context, client kubernetes.Interface) error {
		list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		for _, p := range list.Items {
			if p.Status.Phase != corev1.PodRunning {
				err = fmt.Errorf("%s is %s", p.Name, p.Status.Phase)
			}
		}
		return err
	})
	if err := c.Advance(ctx, 10*time.Minute+20*time.Second); err != nil {
		t.Fatal(err)
	}
	before := map[string]map[string]float64{"large-0": counters(t, c, "large-0"), "small-0": counters(t, c, "small-0")}
	again := counters(t, c, "large-0")
	for name, value := range before["large-0"] {
		if again[name] != value {
			t.Errorf("%s: %v, and %v at the same time", name, value, again[name])
		}
	}
	if periods := before["large-0"]["container_cpu_cfs_periods_total over"]; periods < 6000 || periods > 6200 {
		t.Errorf("%v periods in 10 minutes", periods)
	}
	if err := c.Advance(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		node, pod                                string
		used, periods, throttled, throttledTimes float64
	}{
		{"large-0", "over", 60, 600, 600, 60},
		{"large-0", "within", 30, 600, 0, 0},
		{"large-0", "free", 180, -1, -1, -1},
		{"large-0", "shared", 30, 600, 600, 90},
		{"small-0", "squeezed", 60, 600, 0, 0},
	} {
		now := counters(t, c, tt.node)
		for metric, want := range map[string]float64{
			"container_cpu_usage_seconds_total": tt.used, "container_cpu_cfs_periods_total": tt.periods,
			"container_cpu_cfs_throttled_periods_total": tt.throttled, "container_cpu_cfs_throttled_seconds_total": tt.throttledTimes,
		} {
			value, has := now[metric+" "+tt.pod]
			if want < 0 {
				if has {
					t.Errorf("%s of %s, which has no limit: %v", metric, tt.pod, value)
				}
				continue
			}
			if got := value - before[tt.node][metric+" "+tt.pod]; got < want-0.01 || got > want+0.01 {
				t.Errorf("%s of %s in a minute: %v, want %v", metric, tt.pod, got, want)
			}
		}
	}
	if err := c.Client().CoreV1().Pods("default").Delete(ctx, "over", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, has := counters(t, c, "large-0")["container_cpu_usage_seconds_total over"]; has {
		t.Error("a deleted pod has metrics")
	}
}
