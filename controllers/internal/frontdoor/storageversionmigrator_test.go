package controllers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	migrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/controllers/internal/storageversionmigrator"
	"minikcm.dev/minikcm/minikcmtest"
)

func newMigrations(t *testing.T) *minikcmtest.Cluster {
	t.Helper()
	return minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(storageversionmigrator.Name))
}

func startMigration(t *testing.T, c *minikcmtest.Cluster, name string, resource metav1.GroupResource) {
	t.Helper()
	m := &migrationv1.StorageVersionMigration{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: migrationv1.StorageVersionMigrationSpec{Resource: resource}}
	if _, err := c.Client().StoragemigrationV1().StorageVersionMigrations().Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// conditions returns the conditions of a migration: type, status and message of each.
func conditionsOf(t *testing.T, c *minikcmtest.Cluster, name string) []string {
	t.Helper()
	m, err := c.Client().StoragemigrationV1().StorageVersionMigrations().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range m.Status.Conditions {
		all = append(all, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Message))
	}
	return all
}

func expectMigration(t *testing.T, c *minikcmtest.Cluster, name string, want ...string) {
	t.Helper()
	if got := conditionsOf(t, c, name); !slices.Equal(got, want) {
		t.Errorf("migration %s: %q, want %q", name, got, want)
	}
}

var (
	definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	gadgets             = metav1.GroupResource{Group: "example.com", Resource: "gadgets"}
)

// migratedDefinition returns a definition with two versions, one of which is stored.
func migratedDefinition(stored string) *unstructured.Unstructured {
	var versions []any
	for _, name := range []string{"v1", "v2"} {
		versions = append(versions, map[string]any{
			"name": name, "served": true, "storage": name == stored,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gadgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "gadgets", "kind": "Gadget"}, "versions": versions,
		},
	}}
}

// TestANewStorageVersion changes the storage version of a definition with objects. The object that
// is written after the change is not written again.
func TestANewStorageVersion(t *testing.T) {
	t.Parallel()
	c := newMigrations(t)
	ctx, client := t.Context(), dynamic.NewForConfigOrDie(c.Config())
	definitions := client.Resource(definitionsResource)
	made, err := definitions.Create(ctx, migratedDefinition("v1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	advance(t, c, time.Second)
	objects := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}).Namespace("default")
	gadget := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": name}}}
	}
	versions := map[string]string{}
	for _, name := range []string{"a", "b"} {
		o, err := objects.Create(ctx, gadget(name), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		versions[name] = o.GetResourceVersion()
	}
	changed := migratedDefinition("v2")
	made, err = definitions.Get(ctx, made.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changed.SetResourceVersion(made.GetResourceVersion())
	if _, err := definitions.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, time.Second)
	current, err := objects.Create(ctx, gadget("current"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	startMigration(t, c, "m", gadgets)
	advance(t, c, time.Second)
	expectMigration(t, c, "m", "Running False Migration completed", "Succeeded True Migration completed")
	for name, before := range versions {
		o, err := objects.Get(ctx, name, metav1.GetOptions{})
		if err != nil || o.GetResourceVersion() == before {
			t.Errorf("%s was not written: %v", name, err)
		}
	}
	if o, err := objects.Get(ctx, "current", metav1.GetOptions{}); err != nil || o.GetResourceVersion() != current.GetResourceVersion() {
		t.Errorf("an object in the storage version was written: %v", err)
	}
	if made, err = definitions.Get(ctx, made.GetName(), metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	stored, _, _ := unstructured.NestedStringSlice(made.Object, "status", "storedVersions")
	if !slices.Equal(stored, []string{"v2"}) {
		t.Errorf("stored versions: %v", stored)
	}
	found, _, _ := unstructured.NestedSlice(made.Object, "status", "conditions")
	for _, c := range found {
		if c := c.(map[string]any); c["type"] == "StorageMigrating" && c["message"] == "The migration has succeeded and the stored versions have been updated" && c["status"] == "False" {
			return
		}
	}
	t.Errorf("the conditions of the definition: %v", found)
}

// TestBuiltInAndUnknown migrates resources that are not custom ones, of which some cannot be
// migrated.
func TestBuiltInAndUnknown(t *testing.T) {
	t.Parallel()
	c := newMigrations(t)
	startMigration(t, c, "first", metav1.GroupResource{Resource: "namespaces"})
	startMigration(t, c, "second", metav1.GroupResource{Resource: "namespaces"})
	startMigration(t, c, "reviews", metav1.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"})
	startMigration(t, c, "unknown", gadgets)
	advance(t, c, time.Second)
	for _, name := range []string{"first", "second"} {
		expectMigration(t, c, name, "Running False Migration completed", "Succeeded True Migration completed")
	}
	expectMigration(t, c, "reviews", "Running False Migration completed",
		`Failed True resource "authorization.k8s.io/v1, Resource=subjectaccessreviews" does not support discovery operations: [update patch list]`)
	expectMigration(t, c, "unknown", "Running True The migration is running")
	advance(t, c, 3*time.Minute)
	expectMigration(t, c, "unknown", "Running False Migration completed", "Failed True resource does not exist in discovery")
}
