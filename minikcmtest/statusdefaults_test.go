package minikcmtest_test

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/minikcmtest"
)

// phasedDefinition is gadgetDefinition with a status whose phase defaults to Pending.
func phasedDefinition() *apiextensionsv1.CustomResourceDefinition {
	d := gadgetDefinition()
	version := &d.Spec.Versions[0]
	version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	version.Schema.OpenAPIV3Schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{"status": {
		Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte(`{}`)},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"phase": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"Pending"`)}}},
	}}
	return d
}

// TestOperatorSeesStatusDefaults runs the loop of an operator that acts on objects with the
// default status, over HTTPS. The operator only reads from its informer.
func TestOperatorSeesStatusDefaults(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithHTTPS())
	config, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := apiextensionsclient.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions().Create(ctx, phasedDefinition(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(config).Resource(gadgets)
	phases := make(chan string, 10)
	handle := func(obj any) {
		u := obj.(*unstructured.Unstructured)
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		phases <- phase
		if phase != "Pending" {
			return
		}
		if _, err := client.Namespace(u.GetNamespace()).Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"status":{"phase":"Ready"}}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Error(err)
		}
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0)
	defer func() { cancel(); factory.Shutdown() }()
	informer := factory.ForResource(gadgets).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: handle, UpdateFunc: func(_, obj any) { handle(obj) }}); err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer does not sync")
	}
	if _, err := client.Namespace("default").Create(ctx, gadget("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Pending", "Ready"} {
		if got := <-phases; got != want {
			t.Fatalf("the informer has the phase %q, want %q", got, want)
		}
	}
}
