package hooks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

func TestDefaultsOfUnstructuredObjects(t *testing.T) {
	table := resources.Builtin()
	kinds := Kinds{Table: func() *resources.Table { return table }, Scheme: scheme.Scheme}
	object := func() map[string]any {
		return map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
			"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}},
		}
	}
	loose := &unstructured.Unstructured{Object: object()}
	kinds.Default(loose)

	typed := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object(), typed); err != nil {
		t.Fatal(err)
	}
	kinds.Default(typed)
	got := &appsv1.Deployment{}
	if err := kinds.GetObjectConvertor().Convert(loose, got, nil); err != nil {
		t.Fatal(err)
	}
	typed.TypeMeta = got.TypeMeta
	if diff := cmp.Diff(typed, got); diff != "" {
		t.Error(diff)
	}
	if got.Spec.Replicas == nil {
		t.Error("there are no defaults")
	}
	if loose.GetKind() != "Deployment" || loose.GetAPIVersion() != "apps/v1" {
		t.Errorf("it is now a %s of %s", loose.GetKind(), loose.GetAPIVersion())
	}
}
