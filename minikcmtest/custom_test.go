package minikcmtest_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"minikcm.dev/minikcm/minikcmtest"
)

var gadgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}

// gadgetDefinition defines a kind with a minimal schema.
func gadgetDefinition() *apiextensionsv1.CustomResourceDefinition {
	yes := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gadgets.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: gadgets.Resource, Kind: "Gadget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gadgets.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes},
				},
			}},
		},
	}
}

func gadget(name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gadgets.GroupVersion().WithKind("Gadget"))
	u.SetName(name)
	u.SetOwnerReferences(owners)
	return u
}

// The controllers handle a kind as soon as it is defined: deleting an owner deletes its
// dependents, whichever of the two is custom, and deleting a namespace deletes its custom
// objects.
func TestCustomKindsAreCollected(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	ctx := t.Context()
	custom := dynamic.NewForConfigOrDie(c.Config())
	definitions := apiextensionsclient.NewForConfigOrDie(c.Config()).ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(ctx, gadgetDefinition(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance := func() {
		t.Helper()
		if err := c.Advance(ctx, 30*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Client().CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create := func(namespace string, obj *unstructured.Unstructured) *unstructured.Unstructured {
		t.Helper()
		made, err := custom.Resource(gadgets).Namespace(namespace).Create(ctx, obj, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	boss := create("default", gadget("boss"))
	create("short", gadget("a"))
	owner := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Gadget", Name: boss.GetName(), UID: boss.GetUID()}
	create("default", gadget("helper", owner))
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{owner}}}
	if _, err := c.Client().CoreV1().ConfigMaps("default").Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance()
	if err := custom.Resource(gadgets).Namespace("default").Delete(ctx, "boss", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Client().CoreV1().Namespaces().Delete(ctx, "short", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	advance()
	left, err := custom.Resource(gadgets).List(ctx, metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("left of the gadgets: %v %v", left, err)
	}
	if _, err := c.Client().CoreV1().ConfigMaps("default").Get(ctx, "owned", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the owned ConfigMap: %v", err)
	}
	if _, err := c.Client().CoreV1().Namespaces().Get(ctx, "short", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
	if err := definitions.Delete(ctx, "gadgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	advance()
	if _, err := definitions.Get(ctx, "gadgets.example.com", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the definition: %v", err)
	}
}

// gadgetOf is the Go type of a gadget. It has only a JSON encoding, as all types that
// controller-gen generates.
type gadgetOf struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Size int `json:"size"`
}

func (g *gadgetOf) DeepCopyObject() runtime.Object {
	out := *g
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// controller-runtime's client sends custom resources as JSON and built-in kinds as
// protobuf, unless its configuration sets a content type.
func TestTypedCustomResource(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithNodes(0))
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(gadgets.GroupVersion().WithKind("Gadget"), &gadgetOf{})
	metav1.AddToGroupVersion(scheme, gadgets.GroupVersion())
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	definer, err := client.New(c.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := definer.Create(t.Context(), gadgetDefinition()); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*rest.Config{"Config": c.Config(), "ConfigFor": c.ConfigFor("jane", "system:masters")} {
		typed, err := client.New(config, client.Options{Scheme: scheme})
		if err != nil {
			t.Fatal(err)
		}
		key := client.ObjectKey{Namespace: "default", Name: strings.ToLower(name)}
		made := &gadgetOf{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Size: 3}
		if err := typed.Create(t.Context(), made); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := &gadgetOf{}
		if err := typed.Get(t.Context(), key, got); err != nil || got.Size != 3 {
			t.Errorf("%s: size %d, %v; want 3", name, got.Size, err)
		}
		if err := typed.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{}); err != nil {
			t.Errorf("%s: a built-in kind: %v", name, err)
		}
	}
}
