package chaosmesh

import (
	"context"
	_ "embed" // the schemas
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/scenario/definitions"
)

// resourceOf is the resource of one of the kinds.
func resourceOf(kind string) schema.GroupVersionResource {
	plural := map[string]string{KindPodChaos: "podchaos", KindNetworkChaos: "networkchaos", KindDNSChaos: "dnschaos", KindHTTPChaos: "httpchaos", KindSchedule: "schedules", KindWorkflow: "workflows", KindWorkflowNode: "workflownodes"}[kind]
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: plural}
}

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
		KindPodChaos:     {column("action", ".spec.action"), column("duration", ".spec.duration")},
		KindNetworkChaos: {column("action", ".spec.action"), column("duration", ".spec.duration")},
		KindDNSChaos:     {column("action", ".spec.action"), column("duration", ".spec.duration")},
		KindHTTPChaos:    {column("target", ".spec.target"), column("duration", ".spec.duration")},
		KindSchedule:     {column("schedule", ".spec.schedule"), column("type", ".spec.type")},
		KindWorkflow:     {column("entry", ".spec.entry")},
	}[kind]
	short := map[string]string{KindWorkflow: "wf", KindWorkflowNode: "wfn"}[kind]
	return definitions.Of(kind, resourceOf(kind), short, map[string]any{
		"name": Version, "served": true, "storage": true, "additionalPrinterColumns": columns,
		"schema": map[string]any{"openAPIV3Schema": schema},
	})
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
	addRules(schemas)
	var all []*unstructured.Unstructured
	for _, kind := range []string{KindPodChaos, KindNetworkChaos, KindDNSChaos, KindHTTPChaos, KindSchedule, KindWorkflow, KindWorkflowNode} {
		all = append(all, definition(kind, schemas[kind]))
	}
	return definitions.Install(ctx, jsonConfig(config), all)
}

// jsonConfig is config for clients of custom resources.
func jsonConfig(config *rest.Config) *rest.Config {
	return definitions.ConfigFor(config, "minikcm/chaos-mesh")
}
