package chaosmesh

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/scenario/definitions"
)

// refused returns Chaos Mesh's kinds that cannot be run here, with the reason and what to
// use instead.
func refused() map[string]string {
	const cloud = "there is no cloud whose machines it could stop; the fault \"nodes: {action: crash}\" stops a node"
	return map[string]string{
		"IOChaos":              "simulated containers do no I/O that could be slow; the fault \"etcd: {action: slow}\" slows the cluster's own",
		"StressChaos":          "simulated containers use what the annotations minikcm.dev/cpu and minikcm.dev/memory say",
		"TimeChaos":            "containers read the cluster's clock; the fault \"clock: {action: skew}\" sets those of nodes and controllers",
		"KernelChaos":          "simulated nodes have no kernel",
		"JVMChaos":             "no container runs a JVM",
		"AWSChaos":             cloud,
		"AzureChaos":           cloud,
		"GCPChaos":             cloud,
		"BlockChaos":           "simulated nodes have no block devices",
		"PhysicalMachineChaos": "there are no machines but simulated nodes; the fault \"nodes: {action: crash}\" stops one",
		"StatusCheck":          "the steps reachable, wait and expect of a scenario check what must hold",
		"RemoteCluster":        "there is no other cluster",
	}
}

// refusedTemplates returns the types of a Workflow's templates that cannot be run here.
func refusedTemplates() map[string]string {
	types := refused()
	types["Task"] = "a template cannot run a container and branch on its exit code"
	return types
}

// RefuseOthers defines the kinds that cannot be run, so that the API server refuses their
// objects with the reason. Without it, a client says only that it knows no such kind.
func RefuseOthers(ctx context.Context, config *rest.Config) error {
	var all []*unstructured.Unstructured
	reasons := refused()
	for _, kind := range slices.Sorted(maps.Keys(reasons)) {
		reason := notRun(kind, reasons[kind])
		resource := resourceOf(kind)
		resource.Resource = strings.ToLower(kind)
		if !strings.HasSuffix(kind, "Chaos") {
			resource.Resource += "s"
		}
		all = append(all, definitions.Of(kind, resource, "", map[string]any{
			"name": Version, "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "description": reason, "x-kubernetes-preserve-unknown-fields": true,
				"x-kubernetes-validations": []any{map[string]any{"rule": "false", "message": reason}},
			}},
		}))
	}
	return definitions.Install(ctx, jsonConfig(config), all)
}

func notRun(kind, reason string) string { return fmt.Sprintf("%s is not run here: %s", kind, reason) }
