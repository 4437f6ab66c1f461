// Code generated from examples/dynamicclient/main.go by go generate. DO NOT EDIT.

package examples

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// The program dynamicclient reads and changes objects of any kind with a dynamic client, which
// knows no types: objects are maps, and their fields are found by name. Use it for kinds that are
// not known when the program is compiled, such as custom resources.
func dynamicclient(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	deployments := client.Resource(resource).Namespace("default")
	web, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	replicas, found, err := unstructured.NestedInt64(web.Object, "spec", "replicas")
	if err != nil || !found {
		return fmt.Errorf("reading spec.replicas: found %v: %w", found, err)
	}
	// A merge patch changes only the fields that it names.
	patch := []byte(`{"metadata":{"annotations":{"example.com/seen":"true"}}}`)
	if web, err = deployments.Patch(ctx, "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	fmt.Printf("%s %s has %d replicas and example.com/seen=%s\n", web.GetKind(), web.GetName(), replicas, web.GetAnnotations()["example.com/seen"])
	return nil
}
