package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/kubeletsim"
)

func TestNextNumber(t *testing.T) {
	names := []string{"node-0", "node-7", "node-x", "node", "a-b-3", "node-99999999999999999999"}
	for base, want := range map[string]int{"node": 8, "a-b": 4, "a": 0, "none": 0} {
		if got := nextNumber(base, names); got != want {
			t.Errorf("after the nodes %s comes %d, want %d", base, got, want)
		}
	}
	for name, want := range map[string]string{"node-7": "node", "a-b-3": "a-b", "box": "", "a-": ""} {
		if got := poolOf(name); got != want {
			t.Errorf("the base of %s is %s, want %s", name, got, want)
		}
	}
}

// A node made with --like copies the labels, taints and resources of the other node, and flags
// override them.
func TestNodeLikeAnother(t *testing.T) {
	other := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "small-0", Labels: map[string]string{corev1.LabelHostname: "small-0", "size": "small", "zone": "a"}},
		Spec: corev1.NodeSpec{
			PodCIDR: "10.244.0.0/24",
			Taints: []corev1.Taint{
				{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute"},
				{Key: "size", Value: "small", Effect: "NoSchedule", TimeAdded: &metav1.Time{}},
			},
		},
		Status: corev1.NodeStatus{Capacity: amounts(t, "cpu=4", "memory=8Gi"), Allocatable: amounts(t, "cpu=3", "memory=7Gi")},
	}
	pool, err := parsePool("cpu=2,label=zone=b,taint=size=tiny:NoSchedule,example.com/gpu=1")
	if err != nil {
		t.Fatal(err)
	}
	got := overridden(kubeletsim.NodeSpecLike(other), pool.Node)
	want := minikcm.NodeSpec{
		Labels:   map[string]string{"size": "small", "zone": "b"},
		Taints:   []corev1.Taint{{Key: "size", Value: "tiny", Effect: "NoSchedule"}},
		Capacity: amounts(t, "cpu=2", "memory=8Gi", "example.com/gpu=1"), Allocatable: amounts(t, "memory=7Gi"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if other.Labels["zone"] != "a" || other.Status.Capacity.Cpu().String() != "4" {
		t.Error("the other node was changed")
	}
}

func amounts(t *testing.T, pairs ...string) corev1.ResourceList {
	t.Helper()
	var spec minikcm.NodeSpec
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		if err := setNode(&spec, key, value); err != nil {
			t.Fatal(err)
		}
	}
	return spec.Capacity
}

// Nodes are added to and removed from a running cluster, and the output matches its state.
func TestNodesOfARunningCluster(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	// The scaled clock shortens the 40 s until the pods of a removed node are collected.
	up, _ := launchUp(t, home, "--pool", "name=small,cpu=4,label=size=small", "--clock", "scaled=40")
	var out strings.Builder
	do := func(args ...string) {
		t.Helper()
		p := launch(t, home, "run", args...)
		code, text := p.end()
		fmt.Fprintf(&out, "$ minikcm %s\n%s%s", strings.Join(args, " "), text, p.stderr.String())
		if code != 0 {
			fmt.Fprintf(&out, "exit code %d\n", code)
		}
	}
	kubectl := func(args ...string) { t.Helper(); do(append([]string{"kubectl"}, args...)...) }
	do("node", "add", "--pool", "small", "--count", "2")
	do("node", "add", "tainted", "--taint", "only=some:NoSchedule", "--pods", "9")
	do("node", "add", "--like", "tainted", "--memory", "3Gi")
	kubectl("get", "nodes", "-o", "custom-columns=NAME:.metadata.name,READY:.status.conditions[-1].status,CPU:.status.allocatable.cpu,"+
		"MEMORY:.status.allocatable.memory,PODS:.status.allocatable.pods,SIZE:.metadata.labels.size,TAINTS:.spec.taints[*].key")
	do("node", "add", "tainted")
	do("node", "add", "--like", "nothing")
	const on = `{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/hostname":"%s"}}}}}`
	for i, node := range []string{"small-1", "small-2"} {
		name := fmt.Sprintf("web%d", i)
		kubectl("create", "deployment", name, "--image=nginx", "--replicas=0")
		kubectl("patch", "deployment", name, "-p", fmt.Sprintf(on, node))
		kubectl("scale", "deployment", name, "--replicas=2")
		kubectl("wait", "--for=jsonpath={.status.readyReplicas}=2", "deployment", name)
	}
	kubectl("run", "lone", "--image=nginx", `--overrides={"spec":{"nodeName":"tainted"}}`)
	kubectl("wait", "--for=condition=Ready", "pod/lone")
	do("node", "remove", "small-1", "--drain")
	do("node", "remove", "small-2")
	do("node", "remove", "tainted", "small-9")
	do("node", "remove", "tainted", "tainted-0", "--wait=false")
	kubectl("get", "nodes", "-o", "name")
	text := regexp.MustCompile(`(web\d)-[0-9a-z]+(-[0-9a-z]{5})?`).ReplaceAllString(out.String(), "$1-HASH")
	text = regexp.MustCompile(`after [0-9.]+m?s`).ReplaceAllString(text, "after TIME")
	text = announced.ReplaceAllString(text, "")
	golden.Compare(t, "testdata/node.golden", text)
	up.stop()
}

// TestNodeAddWaitsForTheNetwork adds a node whose pod network a controller gives it after it has
// registered, so that it is not Ready at first.
func TestNodeAddWaitsForTheNetwork(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, _ := launchUp(t, home, "--allocate-node-cidrs", "--cluster-cidr", "10.9.0.0/16", "--cloud-provider", "simulated")
	p := launch(t, home, "run", "node", "add", "late")
	if code, text := p.end(); code != 0 || text != "node/late added\n" {
		t.Errorf("exit code %d: %s%s", code, text, p.stderr.String())
	}
	up.stop()
}

// A refused eviction does not delay other pods, and the error contains the budget's message.
func TestEvictionsRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := fake.NewClientset()
	var asked []string
	client.PrependReactor("create", "pods", func(action k8stesting.Action) (bool, runtime.Object, error) {
		name := action.(k8stesting.CreateAction).GetObject().(*policyv1.Eviction).Name
		asked = append(asked, name)
		switch name {
		case "a":
			return true, nil, apierrors.NewTooManyRequests("the budget says no", 0)
		case "c":
			cancel() // as on a timeout
		}
		return true, nil, nil
	})
	pods := make([]corev1.Pod, 3)
	for i, name := range []string{"a", "b", "c"} {
		pods[i] = corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	}
	err := evictAll(ctx, client, pods)
	if err == nil || err.Error() != "1 pod not evicted: default/a (the budget says no)" || len(asked) != 3 {
		t.Errorf("asked for %v: %v", asked, err)
	}
}

func TestAfterwards(t *testing.T) {
	owned := func(kind string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: "x", Controller: new(true)}}}}
	}
	ended := owned("Job")
	ended.Status.Phase = corev1.PodSucceeded
	for want, pod := range map[string]corev1.Pod{
		": it had ended": ended, ": no controller replaces it": {}, ": DaemonSet x runs one on each node": owned("DaemonSet"), ": StatefulSet x replaces it": owned("StatefulSet"),
	} {
		if got := afterwards(&pod); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
