package evolution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/scenario/definitions"
)

// Group is the API group of the kinds Reconciler and Mirror.
const Group = "evolution.minikcm.dev"

const (
	version = "v1"
	kind    = "Reconciler"
)

var reconcilers = schema.GroupVersionResource{Group: Group, Version: version, Resource: "reconcilers"}

// spec is the parsed spec of a Reconciler.
type spec struct {
	// by is one of ways; lasts is the duration, in the cluster's time, that the Reconciler runs
	// for.
	by    string
	lasts time.Duration
}

// IsReconciler reports whether an object is a Reconciler.
func IsReconciler(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Group: Group, Kind: kind}
}

// Check returns an error if a Reconciler cannot be run. Other objects have none.
func Check(object *unstructured.Unstructured) error {
	if !IsReconciler(object) {
		return nil
	}
	_, err := specOf(object)
	return err
}

func specOf(object *unstructured.Unstructured) (spec, error) {
	by, _, _ := unstructured.NestedString(object.Object, "spec", "by")
	if !slices.Contains(ways, by) {
		return spec{}, fmt.Errorf("spec.by: %q is not a way to reconcile; known are %s", by, strings.Join(ways, ", "))
	}
	text, _, _ := unstructured.NestedString(object.Object, "spec", "for")
	lasts, err := time.ParseDuration(text)
	if err != nil || lasts <= 0 {
		return spec{}, fmt.Errorf("spec.for: %q is not a duration such as 10m", text)
	}
	return spec{by: by, lasts: lasts}, nil
}

// Install makes the kind Reconciler known to a cluster, and returns when it is served.
func Install(ctx context.Context, config *rest.Config) error {
	text := map[string]any{"type": "string"}
	definition := definitions.Of(kind, reconcilers, "", map[string]any{
		"name": version, "served": true, "storage": true,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
			"spec":   map[string]any{"type": "object", "properties": map[string]any{"by": text, "for": text}, "required": []any{"by", "for"}},
			"status": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}}},
	})
	return definitions.Install(ctx, jsonConfig(config), []*unstructured.Unstructured{definition})
}

// jsonConfig returns a copy of config for clients of custom resources.
func jsonConfig(config *rest.Config) *rest.Config {
	return definitions.ConfigFor(config, "minikcm/evolution")
}
