// Package suites tests the test runners Chainsaw and kuttl.
package suites

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"minikcm.dev/minikcm/client"
	"minikcm.dev/minikcm/test/clients/thirdparty"
)

// dns holds the objects that the examples expect in kube-system.
const dns = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: coredns, namespace: kube-system, labels: {k8s-app: kube-dns}}
spec:
  selector: {matchLabels: {k8s-app: kube-dns}}
  template:
    metadata: {labels: {k8s-app: kube-dns}}
    spec:
      containers: [{name: coredns, image: coredns, securityContext: {readOnlyRootFilesystem: true}}]
`

// TestChainsaw runs Chainsaw's own examples, which expect a single node and a DNS server. One
// that starts a cluster with kind is left out.
func TestChainsaw(t *testing.T) {
	c := thirdparty.Start(t, client.Nodes(1))
	c.Apply(dns)
	dir := filepath.Join(t.TempDir(), "e2e")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(thirdparty.Source(t, "github.com/kyverno/chainsaw"), "testdata/e2e"))); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "examples/dynamic-clusters")); err != nil {
		t.Fatal(err)
	}
	run(t, []string{"KUBECONFIG=" + c.Kubeconfig}, thirdparty.Build(t, "github.com/kyverno/chainsaw"),
		"test", dir, "--remarshal", "--config", filepath.Join(dir, "config.yaml"), "--values", filepath.Join(dir, "values.yaml"), "--fail-fast=false",
		"--set", "env=poc", "--set", "clusterDirectory=my-cluster", "--set-string", "image.tag=01")
}

// TestKuttl runs kuttl's own suites on an API server and an etcd from the folder of "minikcm envtest",
// and a test with pods on a cluster.
func TestKuttl(t *testing.T) {
	kuttl := thirdparty.Build(t, "github.com/kudobuilder/kuttl/cmd/kubectl-kuttl")
	source := thirdparty.Source(t, "github.com/kudobuilder/kuttl")
	own := filepath.Join(source, "internal/harness")
	run(t, nil, kuttl, "test", "--start-control-plane", "--skip-delete", "--crd-dir", filepath.Join(own, "test_crds"), filepath.Join(own, "test_data"))
	run(t, nil, kuttl, "test", "--start-control-plane", "--template-var", "var1=var1", "--template-var", "var2=var2,var3=var3", filepath.Join(source, "test/vars/suite1"))

	c := thirdparty.Start(t, client.Nodes(2))
	suite, err := filepath.Abs("testdata/kuttl")
	if err != nil {
		t.Fatal(err)
	}
	run(t, []string{"KUBECONFIG=" + c.Kubeconfig}, kuttl, "test", suite)
}

// run runs a test runner with the folder of "minikcm envtest", whose kubectl is in its PATH. The
// runners write into their working directory.
func run(t *testing.T, environment []string, program string, args ...string) {
	t.Helper()
	assets := thirdparty.Assets(t)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(os.Environ(), "KUBEBUILDER_ASSETS="+assets, "PATH="+assets+":"+os.Getenv("PATH")), environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", filepath.Base(program), err, out)
	}
}
