package chaosmesh

import (
	"context"
	_ "embed" // the schemas
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// resourceOf is the resource of one of the kinds.
func resourceOf(kind string) schema.GroupVersionResource {
	plural := map[string]string{KindPodChaos: "podchaos", KindSchedule: "schedules", KindWorkflow: "workflows", KindWorkflowNode: "workflownodes"}[kind]
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: plural}
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

//go:embed schemas.yaml
var schemasYAML []byte

// schemas returns the OpenAPI schemas of the kinds that are run, by kind.
func schemas() (map[string]any, error) {
	var all map[string]any
	if err := yaml.Unmarshal(schemasYAML, &all); err != nil {
		return nil, fmt.Errorf("reading the schemas of Chaos Mesh's kinds: %w", err)
	}
	return all, nil
}

// definition returns the CustomResourceDefinition of a kind that is run, as Chaos Mesh
// names it.
func definition(kind string, schema any) *unstructured.Unstructured {
	columns := map[string][]any{
		KindPodChaos: {column("action", ".spec.action"), column("duration", ".spec.duration")},
		KindSchedule: {column("schedule", ".spec.schedule"), column("type", ".spec.type")},
		KindWorkflow: {column("entry", ".spec.entry")},
	}[kind]
	short := map[string]string{KindWorkflow: "wf", KindWorkflowNode: "wfn"}[kind]
	return crd(kind, resourceOf(kind), short, map[string]any{
		"name": Version, "served": true, "storage": true, "additionalPrinterColumns": columns,
		"schema": map[string]any{"openAPIV3Schema": schema},
	})
}

func crd(kind string, resource schema.GroupVersionResource, short string, version map[string]any) *unstructured.Unstructured {
	names := map[string]any{"kind": kind, "listKind": kind + "List", "plural": resource.Resource, "singular": strings.ToLower(kind)}
	if short != "" {
		names["shortNames"] = []any{short}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": resource.GroupResource().String()},
		"spec":     map[string]any{"group": Group, "scope": "Namespaced", "names": names, "versions": []any{version}},
	}}
}

func column(name, path string) any {
	return map[string]any{"name": name, "type": "string", "jsonPath": path}
}

// Install makes the kinds that are run known to a cluster, and returns when they are
// served.
func Install(ctx context.Context, config *rest.Config) error {
	schemas, err := schemas()
	if err != nil {
		return err
	}
	var definitions []*unstructured.Unstructured
	for _, kind := range []string{KindPodChaos, KindSchedule, KindWorkflow, KindWorkflowNode} {
		definitions = append(definitions, definition(kind, schemas[kind]))
	}
	return install(ctx, config, definitions)
}

// install creates definitions, unless they are there, and returns when they are served.
func install(ctx context.Context, config *rest.Config, all []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(jsonConfig(config))
	if err != nil {
		return fmt.Errorf("making the client that installs Chaos Mesh's kinds: %w", err)
	}
	for _, definition := range all {
		name := definition.GetName()
		_, err := client.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("installing the kind %s: %w", name, err)
		}
		if err := established(ctx, client, name); err != nil {
			return fmt.Errorf("waiting for the kind %s to be served: %w", name, err)
		}
	}
	return nil
}

// jsonConfig is config for clients of custom resources.
func jsonConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.UserAgent = "minikcm/chaos-mesh"
	return config
}

func established(ctx context.Context, client dynamic.Interface, name string) error {
	w, err := client.Resource(definitions).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return nil
			}
		}
	}
	return fmt.Errorf("the watch ended: %w", context.Cause(ctx))
}
