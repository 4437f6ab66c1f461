package clients

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestEnvtest does what the test suite of an operator does: it installs
// CustomResourceDefinitions into an existing cluster and removes them.
func TestEnvtest(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	existing := true
	env := &envtest.Environment{
		UseExistingCluster: &existing, Config: c.config(), ErrorIfCRDPathMissing: true,
		CRDDirectoryPaths: []string{"testdata/crds"},
		CRDInstallOptions: envtest.CRDInstallOptions{CleanUpAfterUse: true},
	}
	cfg, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	k8s, err := client.NewWithWatch(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	site := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"generateName": "site-", "namespace": "default"},
		"spec":     map[string]any{"image": "nginx"},
	}}
	site.SetGroupVersionKind(schema.GroupVersionKind{Group: "clients.example.com", Version: "v1", Kind: "Website"})
	if err := k8s.Create(ctx, site); err != nil {
		t.Fatal(err)
	}
	if replicas, _, _ := unstructured.NestedInt64(site.Object, "spec", "replicas"); replicas != 1 {
		t.Errorf("default: %v", site.Object)
	}
	patch := client.MergeFrom(site.DeepCopy())
	if err := unstructured.SetNestedField(site.Object, "ready", "status", "children"); err != nil {
		t.Fatal(err)
	}
	if err := k8s.Status().Patch(ctx, site, patch); err == nil {
		t.Error("a status of the wrong type was taken")
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "suite-"}}
	if err := k8s.Create(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	if err := k8s.Delete(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	if err := env.Stop(); err != nil {
		t.Fatal(err)
	}
	if left := c.kubectl("get", "crd", "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// TestEnvtestUnchanged runs the test suite of an operator that contains nothing specific to
// minikcm.
func TestEnvtestUnchanged(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, minikcmBinary.path(t), "exec", "--", websiteSuite.path(t), "-test.v")
	cmd.Dir, cmd.Env = "website", append(os.Environ(), "USE_EXISTING_CLUSTER=true")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestWebsite") {
		t.Errorf("the operator's test: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}
