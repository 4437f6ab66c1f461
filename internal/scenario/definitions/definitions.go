package definitions

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/dump"
)

var resource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Of returns the CustomResourceDefinition of a namespaced kind with one version, written as
// in the definition's spec.versions. short may be empty.
func Of(kind string, served schema.GroupVersionResource, short string, version map[string]any) *unstructured.Unstructured {
	names := map[string]any{"kind": kind, "listKind": kind + "List", "plural": served.Resource, "singular": strings.ToLower(kind)}
	if short != "" {
		names["shortNames"] = []any{short}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": served.GroupResource().String()},
		"spec":     map[string]any{"group": served.Group, "scope": "Namespaced", "names": names, "versions": []any{version}},
	}}
}

// ConfigFor returns a copy of config for clients of custom kinds, which are sent as JSON.
func ConfigFor(config *rest.Config, userAgent string) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.UserAgent = userAgent
	return config
}

// Install creates definitions, unless they are there, and returns when they are served.
func Install(ctx context.Context, config *rest.Config, all []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the client that installs custom kinds: %w", err)
	}
	for _, definition := range all {
		name := definition.GetName()
		_, err := client.Resource(resource).Create(ctx, definition, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("installing the kind %s: %w", name, err)
		}
		if err := dump.Established(ctx, client.Resource(resource), name); err != nil {
			return fmt.Errorf("waiting for the kind %s to be served: %w", name, err)
		}
	}
	return nil
}
