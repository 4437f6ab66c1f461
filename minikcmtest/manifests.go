package minikcmtest

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/internal/dump"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// CreateCRDs creates the CustomResourceDefinitions in YAML or JSON files and, recursively, in
// folders, such as config/crd/bases of a kubebuilder project. A definition that exists is
// replaced. Objects of other kinds and kustomizations are skipped. When CreateCRDs returns, the
// kinds are served. It fails the test if there is no definition, or if one is refused.
func (c *Cluster) CreateCRDs(paths ...string) {
	c.t.Helper()
	found, err := manifests(paths, "CustomResourceDefinition")
	if err == nil {
		err = c.put(found, func(*unstructured.Unstructured) schema.GroupVersionResource { return definitions })
	}
	if err != nil {
		c.t.Fatalf("creating CustomResourceDefinitions: %v", err)
	}
}

// manifests reads the objects of some kinds from files and folders. It returns an error if
// there are none.
func manifests(paths []string, kinds ...string) ([]*unstructured.Unstructured, error) {
	all, err := dump.Read(paths, strings.NewReader(""))
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Collect(all.Objects()), func(o *unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GetKind()) })
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no %s in %s", strings.Join(kinds, " and no "), strings.Join(paths, ", "))
	}
	return found, nil
}

// put creates cluster-scoped objects, or replaces existing ones.
func (c *Cluster) put(objects []*unstructured.Unstructured, resourceOf func(*unstructured.Unstructured) schema.GroupVersionResource) error {
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	ctx := c.t.Context()
	for _, o := range objects {
		resource := client.Resource(resourceOf(o))
		_, err := resource.Create(ctx, o, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			var old *unstructured.Unstructured
			if old, err = resource.Get(ctx, o.GetName(), metav1.GetOptions{}); err == nil {
				o.SetResourceVersion(old.GetResourceVersion())
				_, err = resource.Update(ctx, o, metav1.UpdateOptions{})
			}
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
