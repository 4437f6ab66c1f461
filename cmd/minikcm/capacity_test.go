package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"minikcm.dev/minikcm/internal/golden"
)

// dumpFile is the "kubectl get -A -o yaml" output of a cluster with two nodes and a
// Deployment of three pods that a PodDisruptionBudget covers.
const dumpFile = "testdata/dump.yaml"

// The answers about a dump are compared verbatim, with their exit codes.
func TestWhatif(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, args := range [][]string{
		{"whatif", "add", "1", "like", "worker-0,", "drain", "worker-1"},
		{"whatif", "drain", "worker-1"},
		{"whatif", "remove", "worker-0", "-n", "shop"},
		{"whatif", "scale", "deployment/web=10", "-n", "shop"},
		{"whatif", "scale", "shop/deployment/web=4", "-o", "json"},
		{"whatif", "drain", "worker-9"},
		{"fit", "deployment/web", "-n", "shop"},
		{"fit", "shop/deployment/web", "--replicas", "5"},
		{"fit", "shop/deployment/web", "--replicas", "50"},
		{"fit", "shop/deployment/web", "--replicas", "2"},
		{"fit", "deployment/web"},
	} {
		code, stdout, stderr := call(append(args, "--from-objects", dumpFile)...)
		fmt.Fprintf(&out, "$ minikcm %s\n%s%sexit code %d\n\n", strings.Join(args, " "), stderr, stdout, code)
	}
	golden.Compare(t, "testdata/whatif.golden", out.String())
}

// Requests that fail while a node is drained are reported with their causes; mistakes in the file of traffic are.
func TestWhatifTraffic(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, args := range [][]string{
		{"drain", "worker-0", "--traffic", "testdata/rates.yaml"},
		{"drain", "worker-1", "--traffic", "testdata/rates.yaml"},
		{"drain", "worker-0", "--traffic", "testdata/rates-bad.yaml"},
		{"drain", "worker-0", "--traffic", "testdata/rates-unknown.yaml"},
		{"drain", "worker-0", "--traffic", "testdata/rates-none.yaml"},
	} {
		code, stdout, stderr := call(append([]string{"whatif", "--from-objects", "testdata/shop.yaml"}, args...)...)
		fmt.Fprintf(&out, "$ minikcm whatif %s\n%s%sexit code %d\n\n", strings.Join(args, " "), stderr, stdout, code)
	}
	golden.Compare(t, "testdata/whatiftraffic.golden", out.String())
}

// A cluster loaded from a dump has the same pods, with the same names on the same nodes.
func TestFromObjects(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), self(t), "exec", "--from-objects", "-", "--redact-secrets", "--", self(t), "kubectl", "get", "--no-headers", "-n", "shop",
		"pods,replicasets,deployments", "-o", `custom-columns=KIND:.kind,NAME:.metadata.name,NODE:.spec.nodeName,READY:.status.readyReplicas,PHASE:.status.phase`)
	input, err := os.Open(dumpFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Close() }()
	cmd.Env, cmd.Stdin = append(os.Environ(), asCommand+"=run", "HOME="+t.TempDir()), input
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	golden.Compare(t, "testdata/fromobjects.golden", stderr.String()+string(out))
}

// Questions about the running cluster use its current state and do not change it.
func TestWhatifOfARunningCluster(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	up, kubeconfig := launchUp(t, home, "--from-objects", dumpFile)
	defer up.stop()
	client := clientOf(t, kubeconfig)
	podsNow := func() (names []string) {
		pods, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			names = append(names, pods.Items[i].Name+" on "+pods.Items[i].Spec.NodeName)
		}
		slices.Sort(names)
		return names
	}
	before := podsNow()
	for name, path := range map[string]string{"its snapshot": kubeconfig, "lists": readOnly(t, kubeconfig)} {
		code, stdout, stderr := call("fit", "shop/deployment/web", "--kubeconfig", path)
		if code != 0 || !strings.Contains(stdout, "web in shop has 3 replicas, and 5 more fit") {
			t.Errorf("from %s: exit code %d, %s%s", name, code, stdout, stderr)
		}
		code, stdout, stderr = call("whatif", "remove", "worker-0", "--kubeconfig", path)
		if code != 0 || !strings.Contains(stdout, "Everything fits") {
			t.Errorf("from %s: exit code %d, %s%s", name, code, stdout, stderr)
		}
	}
	if after := podsNow(); !slices.Equal(before, after) {
		t.Errorf("the pods were %v and are %v", before, after)
	}
}

// readOnly returns the kubeconfig of a proxy to a cluster. The proxy does not serve
// minikcm's own paths and fails the test for any request but a GET.
func readOnly(t *testing.T, kubeconfig string) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if r.Method != http.MethodGet {
			t.Errorf("%s %s was sent to a cluster that must only be read", r.Method, r.URL)
		}
		mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/minikcm/") {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	foreign := clientcmdapi.NewConfig()
	foreign.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	foreign.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	foreign.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*foreign, path); err != nil {
		t.Fatal(err)
	}
	return path
}
