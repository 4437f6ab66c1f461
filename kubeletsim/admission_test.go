package kubeletsim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func TestAdmit(t *testing.T) {
	requesting := func(pairs ...string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = resources(pairs...) }
	}
	selecting := func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"zone": "b"} }
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"zone": "a"}},
		Status:     corev1.NodeStatus{Allocatable: resources("example.com/gpu", "1")},
	}
	allocatable := resources("cpu", "4", "memory", "8Gi", "pods", "3")
	tests := []struct {
		name string
		pod  func(*corev1.Pod)
		on   load
		want rejection
	}{
		{"fits exactly", requesting("cpu", "2", "memory", "8Gi"), load{2, resources("cpu", "2")}, rejection{}},
		{
			"no cpu", requesting("cpu", "2001m"),
			load{2, resources("cpu", "2")},
			rejection{"OutOfcpu", "Node didn't have enough resource: cpu, requested: 2001, used: 2000, capacity: 4000"},
		},
		{
			"no memory", requesting("memory", "9Gi"),
			load{},
			rejection{"OutOfmemory", "Node didn't have enough resource: memory, requested: 9663676416, used: 0, capacity: 8589934592"},
		},
		{"too many", nil, load{pods: 3}, rejection{"OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"}},
		{
			"extended", requesting("example.com/gpu", "2"),
			load{},
			rejection{"OutOfexample.com/gpu", "Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1"},
		},
		{"extended that nobody knows", requesting("example.com/tpu", "2"), load{}, rejection{}},
		{"another zone", selecting, load{}, rejection{"NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := testPod("web", "node-0")
			if tt.pod != nil {
				tt.pod(pod)
			}
			if got := admit(pod, node, allocatable, tt.on); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// A node takes what fits, and more when something has ended.
func TestNodeThatIsFull(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1, Node: NodeSpec{Capacity: resources("pods", "1")}})
	c.create(testPod("first", "node-0"))
	c.until("the first pod is ready", func() bool { return isReady(c.pod("first")) })
	c.create(testPod("second", "node-0"))
	c.until("the second pod is rejected", func() bool { return c.pod("second").Status.Phase == corev1.PodFailed })
	if got := c.pod("second").Status; got.Reason != "OutOfpods" ||
		got.Message != "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1" {
		t.Errorf("second pod: %+v", got)
	}
	if err := c.client.CoreV1().Pods("default").Delete(c.ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the first pod is forgotten", func() bool { return c.kubelet.nodes.get("node-0").podCount() == 0 })
	c.create(testPod("third", "node-0"))
	c.until("the third pod is ready", func() bool { return isReady(c.pod("third")) })
}

func (n *node) podCount() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.load.pods
}

func TestExtendedResourcesAreKept(t *testing.T) {
	n := testNode(t)
	object := &corev1.Node{Status: corev1.NodeStatus{Capacity: resources("example.com/gpu", "1", "cpu", "1")}}
	status, _ := nodeStatus(object, n, &Options{}, epoch)
	for _, list := range []corev1.ResourceList{status.Capacity, status.Allocatable} {
		if gpu, cpu := list["example.com/gpu"], list[corev1.ResourceCPU]; gpu.Value() != 1 || cpu.Value() != 32 {
			t.Errorf("%v", list)
		}
	}
}
