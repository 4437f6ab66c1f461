package minikcmtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"minikcm.dev/minikcm/minikcmtest"
)

// withSchedulerConfig starts a cluster with three nodes in virtual time, whose scheduler runs by a
// KubeSchedulerConfiguration.
func withSchedulerConfig(t *testing.T, config string) *minikcmtest.Cluster {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scheduler.yaml")
	config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + config
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(3), minikcmtest.WithSchedulerConfig(file))
}

// nodeOf creates a pod that asks for a scheduler, and returns the node that it gets.
func nodeOf(t *testing.T, c *minikcmtest.Cluster, name, scheduler string) string {
	t.Helper()
	pods := c.Client().CoreV1().Pods("default")
	_, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		SchedulerName: scheduler,
		Containers: []corev1.Container{{Name: "c", Image: "nginx", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod.Spec.NodeName
}

// A profile of its own packs its pods on one node; the default one spreads them.
func TestSchedulerProfiles(t *testing.T) {
	t.Parallel()
	c := withSchedulerConfig(t, `profiles:
- schedulerName: default-scheduler
- schedulerName: packer
  pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}}
  plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
`)
	for _, test := range []struct {
		scheduler string
		nodes     int
	}{{"default-scheduler", 3}, {"packer", 1}} {
		nodes := map[string]bool{}
		for i := range 3 {
			nodes[nodeOf(t, c, fmt.Sprintf("%s-%d", test.scheduler, i), test.scheduler)] = true
		}
		if len(nodes) != test.nodes || nodes[""] {
			t.Errorf("the pods of %s are on %v, want %d nodes", test.scheduler, nodes, test.nodes)
		}
	}
}

// An extender decides which nodes are feasible; virtual time waits for its answers.
func TestSchedulerExtender(t *testing.T) {
	t.Parallel()
	extender := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var args extenderv1.ExtenderArgs
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil || args.NodeNames == nil {
			http.Error(w, fmt.Sprint("node names are missing: ", err), http.StatusBadRequest)
			return
		}
		result := extenderv1.ExtenderFilterResult{NodeNames: &[]string{"node-1"}, FailedNodes: extenderv1.FailedNodesMap{}}
		for _, name := range *args.NodeNames {
			if name != "node-1" {
				result.FailedNodes[name] = "it is not node-1"
			}
		}
		_ = json.NewEncoder(w).Encode(result) // the client may be gone
	}))
	defer extender.Close()
	c := withSchedulerConfig(t, fmt.Sprintf("extenders:\n- {urlPrefix: %q, filterVerb: filter, nodeCacheCapable: true}\n", extender.URL))
	for i := range 3 {
		if node := nodeOf(t, c, fmt.Sprint("p-", i), ""); node != "node-1" {
			t.Errorf("pod %d is on %q, want node-1", i, node)
		}
	}
}
