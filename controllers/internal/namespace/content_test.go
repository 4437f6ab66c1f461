package namespace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestResourcesAreNamespacedDeletableAndOrdered(t *testing.T) {
	lists := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", Namespaced: true, Verbs: []string{"delete", "deletecollection", "list"}},
			{Name: "pods/status", Namespaced: true, Verbs: []string{"get"}},
			{Name: "nodes", Verbs: []string{"delete", "list"}},
			{Name: "bindings", Namespaced: true, Verbs: []string{"create"}},
		}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
			{Name: "deployments", Namespaced: true, Verbs: []string{"delete", "list"}},
		}},
	}
	got, err := Resources(lists)
	if err != nil {
		t.Fatal(err)
	}
	want := []Resource{
		{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Collection: true, Listable: true},
		{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Listable: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Resources([]*metav1.APIResourceList{{GroupVersion: "a/b/c", APIResources: []metav1.APIResource{{Name: "x", Verbs: []string{"delete"}}}}}); err == nil {
		t.Error("a malformed group version was accepted")
	}
}
