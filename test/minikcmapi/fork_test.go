package minikcmapi

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/accessapi"
	"minikcm.dev/minikcm/internal/clockapi"
	"minikcm.dev/minikcm/internal/comparison"
	"minikcm.dev/minikcm/internal/forkapi"
	"minikcm.dev/minikcm/internal/scenarioapi"
	"minikcm.dev/minikcm/internal/ui"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/scenarios"
)

func startForks(t *testing.T) *minikcmtest.Cluster {
	t.Helper()
	return minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.API.Extensions = []minikcm.Extension{scenarios.FaultExtension(scenarios.User), accessapi.Extension(), clockapi.Extension(), scenarioapi.Extension(), forkapi.Extension(forkapi.Options{Cluster: minikcm.Options{Seed: 1, Logger: o.Logger}, Extensions: func() []minikcm.Extension { return nil }, Page: &ui.Options{}})}
	}))
}

// sendFork makes a request, and decodes the response.
func sendFork(t *testing.T, config *rest.Config, method, path, body string, into any) int {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() // it is only read
	if into != nil {
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	return res.StatusCode
}

func createObject(t *testing.T, cluster *minikcmtest.Cluster, name string) *corev1.ConfigMap {
	t.Helper()
	made, err := cluster.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A fork has the objects of its revision, nodes that run, and ends with DELETE. It is no part
// of the cluster that it was forked from.
func TestFork(t *testing.T) {
	t.Parallel()
	cluster := startForks(t)
	then := createObject(t, cluster, "before")
	createObject(t, cluster, "after")
	var fork forkapi.Fork
	if code := sendFork(t, cluster.Config(), http.MethodPost, forkapi.Path, `{"revision": `+then.ResourceVersion+`}`, &fork); code != http.StatusCreated {
		t.Fatalf("a fork is answered with %d: %+v", code, fork)
	}
	if strconv.FormatInt(fork.Revision, 10) != then.ResourceVersion || fork.Time.Before(then.CreationTimestamp.Time) || !strings.Contains(fork.Link, "/ui/open?token=") {
		t.Errorf("the fork is %+v", fork)
	}
	config, err := clientcmd.BuildConfigFromFlags("", fork.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range maps.Items {
		names[maps.Items[i].Name] = true
	}
	if !names["before"] || names["after"] {
		t.Errorf("the fork has the ConfigMaps %v", names)
	}
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Errorf("the fork has %d nodes: %v", len(nodes.Items), err)
	}
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := cluster.Client().CoreV1().ConfigMaps("default").Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("what is deleted in the fork is deleted in the cluster: %v", err)
	}
	var forks []forkapi.Fork
	if sendFork(t, cluster.Config(), http.MethodGet, forkapi.Path, "", &forks); len(forks) != 1 || forks[0].ID != fork.ID {
		t.Errorf("the forks are %+v", forks)
	}
	if code := sendFork(t, cluster.Config(), http.MethodDelete, forkapi.Path+"/"+fork.ID, "", nil); code != http.StatusOK {
		t.Errorf("ending it is answered with %d", code)
	}
	if _, err := os.Stat(fork.Kubeconfig); !os.IsNotExist(err) {
		t.Errorf("its kubeconfig is left: %v", err)
	}
	// Another one is ended by the end of the cluster.
	if code := sendFork(t, cluster.Config(), http.MethodPost, forkapi.Path, "", &fork); code != http.StatusCreated {
		t.Errorf("a fork of now is answered with %d", code)
	}
}

func TestForkRefusals(t *testing.T) {
	t.Parallel()
	cluster := startForks(t)
	for _, r := range []struct {
		method, path, body string
		code               int
	}{
		{http.MethodPost, "", `{"revision": 999999}`, http.StatusBadRequest},
		{http.MethodPost, "", `{"revision": -1}`, http.StatusBadRequest},
		{http.MethodPost, "", `{"version": 1}`, http.StatusBadRequest},
		{http.MethodPost, "", strings.Repeat(" ", 2000), http.StatusRequestEntityTooLarge},
		{http.MethodGet, "?follow=true", "", http.StatusBadRequest},
		{http.MethodPost, "?revision=7", "", http.StatusBadRequest},
		{http.MethodDelete, "/fork-9?force=true", "", http.StatusBadRequest},
		{http.MethodGet, "/fork-9/nothing", "", http.StatusNotFound},
		{http.MethodGet, "/fork-9/comparison", "", http.StatusNotFound},
		{http.MethodGet, "/fork-9/clock", "", http.StatusNotFound},
		{http.MethodPost, "/fork-9/clock/pause", "", http.StatusNotFound},
		{http.MethodPut, "", "", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/fork-9", "", http.StatusNotFound},
		{http.MethodGet, "/fork-9", "", http.StatusMethodNotAllowed},
	} {
		var status metav1.Status
		if code := sendFork(t, cluster.Config(), r.method, forkapi.Path+r.path, r.body, &status); code != r.code || int(status.Code) != code || status.Reason == "" {
			t.Errorf("%s %s %.30q is answered with %d %s", r.method, r.path, r.body, code, status.Message)
		}
	}
}

// A comparison shows what the clusters have not in common, and follows both.
func TestComparison(t *testing.T) {
	t.Parallel()
	cluster := startForks(t)
	createObject(t, cluster, "both")
	deleted := createObject(t, cluster, "later-deleted")
	var fork forkapi.Fork
	if code := sendFork(t, cluster.Config(), http.MethodPost, forkapi.Path, "", &fork); code != http.StatusCreated {
		t.Fatalf("a fork is answered with %d: %+v", code, fork)
	}
	path := forkapi.Path + "/" + fork.ID + "/comparison"
	var first forkapi.Comparison
	if code := sendFork(t, cluster.Config(), http.MethodGet, path, "", &first); code != http.StatusOK {
		t.Fatalf("the comparison is answered with %d", code)
	}
	if first.Here.Nodes != 2 || first.There.Ready != 2 || !first.There.Clock.Now.After(fork.Time.Add(-1)) || len(first.Here.Writes) == 0 {
		t.Errorf("the comparison is %+v", first)
	}

	// Nothing differs, once the controllers of the new cluster have done their first work.
	lines := followComparison(t, cluster.Config(), path)
	var line forkapi.Comparison
	same := func(k comparison.Kind) bool { return k.Both == k.Here && k.Both == k.There && k.Differ == 0 }
	for len(line.Kinds) == 0 || slices.ContainsFunc(line.Kinds, func(k comparison.Kind) bool { return !same(k) }) {
		line = forkapi.Comparison{}
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
	}
	there := clientOf(t, fork.Kubeconfig)
	cordoned := []byte(`{"spec": {"unschedulable": true}}`)
	if _, err := there.CoreV1().Nodes().Patch(t.Context(), "node-1", types.MergePatchType, cordoned, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	createObject(t, cluster, "only-here")
	if err := cluster.Client().CoreV1().ConfigMaps("default").Delete(t.Context(), deleted.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		line = forkapi.Comparison{}
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		found := map[string]comparison.Kind{}
		for _, k := range line.Kinds {
			found[k.Kind] = k
		}
		nodes, maps := found["Node"], found["ConfigMap"]
		if nodes.Differ == 1 && slices.Equal(maps.OnlyHere, []string{"default/only-here"}) && slices.Equal(maps.OnlyThere, []string{"default/later-deleted"}) {
			if nodes.Objects[0].Name != "node-1" || !slices.Contains(nodes.Objects[0].Fields, comparison.Field{Path: "spec.unschedulable", There: "true"}) {
				t.Errorf("the node is %+v", nodes.Objects)
			}
			break
		}
	}
	if code := sendFork(t, cluster.Config(), http.MethodDelete, forkapi.Path+"/"+fork.ID, "", &fork); code != http.StatusOK {
		t.Errorf("the end of the fork is answered with %d", code)
	}
	var err error
	for err == nil { // the stream ends with the fork
		err = lines.Decode(&line)
	}
	if code := sendFork(t, cluster.Config(), http.MethodGet, path, "", nil); code != http.StatusNotFound {
		t.Errorf("the comparison with no fork is answered with %d", code)
	}
}

// followComparison reads the stream of a path.
func followComparison(t *testing.T, config *rest.Config, path string) *json.Decoder {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path+"?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() }) // it is only read
	return json.NewDecoder(res.Body)
}

func clientOf(t *testing.T, kubeconfig string) *kubernetes.Clientset {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestForkWithStages checks that kwok's Stages of the cluster have effect in its fork.
func TestForkWithStages(t *testing.T) {
	t.Parallel()
	manifests, err := minikcm.ParseStages([]byte(`
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-runs}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  next: {statusTemplate: "phase: Running\nreason: Staged\n"}
`))
	if err != nil {
		t.Fatal(err)
	}
	own := minikcm.Stages{Watch: true, Manifests: manifests}
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(1), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Stages = own
		o.API.Extensions = []minikcm.Extension{forkapi.Extension(forkapi.Options{Cluster: minikcm.Options{Seed: 1, Logger: o.Logger, Nodes: minikcm.NodeOptions{Stages: own}}, Extensions: func() []minikcm.Extension { return nil }})}
	}))
	var fork forkapi.Fork
	if code := sendFork(t, cluster.Config(), http.MethodPost, forkapi.Path, "", &fork); code != http.StatusCreated {
		t.Fatalf("a fork is answered with %d: %+v", code, fork)
	}
	client := clientOf(t, fork.Kubeconfig)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watch, err := client.CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok && pod.Status.Reason == "Staged" {
			return
		}
	}
	t.Error("the watch ended before the pod got its status from the Stage")
}

// TestForkOfACloud keeps the states of instances.
func TestForkOfACloud(t *testing.T) {
	t.Parallel()
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(2), minikcmtest.WithSimulatedCloud(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		own := minikcm.Options{Seed: 1, Logger: o.Logger, Nodes: minikcm.NodeOptions{Cloud: o.Nodes.Cloud}}
		o.API.Extensions = []minikcm.Extension{forkapi.Extension(forkapi.Options{Cluster: own, Extensions: func() []minikcm.Extension { return nil }})}
	}))
	id := func(client kubernetes.Interface, node string) (string, string) {
		c, err := client.CoreV1().ConfigMaps("minikcm-cloud").Get(t.Context(), node, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Data["providerID"], c.Data["state"]
	}
	if _, err := cluster.Client().CoreV1().ConfigMaps("minikcm-cloud").Patch(t.Context(), "node-0", types.MergePatchType, []byte(`{"data":{"state":"stopped"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Advance(t.Context(), 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	var fork forkapi.Fork
	if code := sendFork(t, cluster.Config(), http.MethodPost, forkapi.Path, "", &fork); code != http.StatusCreated {
		t.Fatalf("a fork is answered with %d: %+v", code, fork)
	}
	client := clientOf(t, fork.Kubeconfig)
	for node, state := range map[string]string{"node-0": "stopped", "node-1": "running"} {
		want, _ := id(cluster.Client(), node)
		got, is := id(client, node)
		live, err := client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
		if err != nil || got != want || is != state || live.Spec.ProviderID != want {
			t.Errorf("%s is %s in state %s, its Node is %s, want %s in state %s: %v", node, got, is, live.Spec.ProviderID, want, state, err)
		}
		ready := slices.ContainsFunc(live.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if ready != (state == "running") {
			t.Errorf("%s in state %s is ready: %v", node, state, ready)
		}
	}
}
