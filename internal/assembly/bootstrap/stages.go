package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/internal/stages"
)

// CreateStages writes manifests of kwok's kinds to the API, and the namespaces that they need. An
// object that exists gets the spec of the manifest.
func CreateStages(ctx context.Context, config *rest.Config, all []kwok.Manifest) error {
	if len(all) == 0 {
		return nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the client of Stages: %w", err)
	}
	if err := defineStages(ctx, client, all); err != nil {
		return fmt.Errorf("defining kwok's kinds: %w", err)
	}
	for i := range all {
		if err := createStage(ctx, client, &all[i]); err != nil {
			return fmt.Errorf("creating %s: %w", &all[i], err)
		}
	}
	return nil
}

func createStage(ctx context.Context, client dynamic.Interface, m *kwok.Manifest) error {
	var o unstructured.Unstructured
	if err := json.Unmarshal(m.JSON, &o.Object); err != nil {
		return fmt.Errorf("decoding it: %w", err)
	}
	resource, namespaced := kwok.ResourceOf(m.Kind)
	var objects dynamic.ResourceInterface = client.Resource(schema.GroupVersionResource{Group: stages.Group, Version: stages.Version, Resource: resource})
	if namespaced {
		if err := createNamespace(ctx, client, m.Namespace); err != nil {
			return err
		}
		objects = client.Resource(schema.GroupVersionResource{Group: stages.Group, Version: stages.Version, Resource: resource}).Namespace(m.Namespace)
	}
	_, err := objects.Create(ctx, &o, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	for range updateTries {
		var was *unstructured.Unstructured
		if was, err = objects.Get(ctx, m.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		was.Object["spec"] = o.Object["spec"]
		if _, err = objects.Update(ctx, was, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// updateTries bounds the attempts to update an object that other processes on the etcd update, too.
const updateTries = 5

// createNamespace creates a namespace if there is none of that name.
func createNamespace(ctx context.Context, client dynamic.Interface, name string) error {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, namespace, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// defineStages creates the definitions of the kinds of these manifests that there are none of, and
// waits until they are served.
func defineStages(ctx context.Context, client dynamic.Interface, of []kwok.Manifest) error {
	contents, err := kwok.Definitions(of)
	if err != nil {
		return err
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, content := range contents {
		o := &unstructured.Unstructured{Object: content}
		if _, err := definitions.Create(ctx, o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err := dump.Established(ctx, definitions, o.GetName()); err != nil {
			return err
		}
	}
	return nil
}
