package controllers_test

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers/internal/scales"
	"minikcm.dev/minikcm/minikcmtest"
)

var (
	fleetKind = schema.GroupKind{Group: "example.com", Kind: "Fleet"}
	fleets    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "fleets"}
)

func scaledDefinition() *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "fleets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: fleetKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "fleets", Kind: fleetKind.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
					SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
				}},
			}},
		},
	}
}

// TestScaleOfAKindDefinedLater finds a kind that was defined after the client had read discovery.
func TestScaleOfAKindDefinedLater(t *testing.T) {
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	ctx := t.Context()
	client, err := scales.New(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if mappings, err := client.Mappings(fleetKind); !meta.IsNoMatchError(err) {
			t.Fatalf("before it is defined: %v, %v", mappings, err)
		}
	}
	definitions, err := apiextensions.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, scaledDefinition(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	c.Eventually("the kind to be served", func(ctx context.Context, _ kubernetes.Interface) error {
		_, err := objects.Resource(fleets).List(ctx, metav1.ListOptions{})
		return err
	})
	fleet := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": fleetKind.Kind, "metadata": map[string]any{"name": "north"}, "spec": map[string]any{"replicas": int64(4)},
	}}
	if _, err := objects.Resource(fleets).Namespace("default").Create(ctx, fleet, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	mappings, err := client.Mappings(fleetKind, "v1")
	if err != nil || len(mappings) != 1 {
		t.Fatalf("when it is defined: %v, %v", mappings, err)
	}
	got, err := client.Scales("default").Get(ctx, mappings[0].Resource.GroupResource(), "north", metav1.GetOptions{})
	if err != nil || got.Spec.Replicas != 4 {
		t.Errorf("scale %+v, %v", got, err)
	}
}
