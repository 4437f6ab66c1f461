package dump

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// restorable returns the status of a dumped object to write after the object is created, or
// nil to write none: nodes are created with their status, the API server maintains the status
// of namespaces and CustomResourceDefinitions, and a pod without a node has not started.
func restorable(o *unstructured.Unstructured) map[string]any {
	status, _ := o.Object["status"].(map[string]any)
	switch gvk := o.GroupVersionKind(); {
	case isCore(o, "Node"), isCore(o, "Namespace"), gvk.Group == "apiextensions.k8s.io":
		return nil
	case isCore(o, "Pod") && bound(o) == "":
		return nil
	}
	if len(status) == 0 {
		return nil
	}
	return status
}

// readjust adapts a status to the created object: its observed generations, and its times by
// the time that has passed since the dump.
func readjust(o *unstructured.Unstructured, status map[string]any, was, is int64, passed time.Duration) {
	observed(status, was, is)
	if isBuiltin(o.GroupVersionKind().Group) && o.GroupVersionKind().Group != "certificates.k8s.io" {
		shiftTimes(status, passed)
	}
	if isKind(o, "batch", "Job") {
		completeJob(status)
	}
}

// observed replaces the observed generations within a value. The dumped generation, was,
// becomes the current one, is. An older one becomes the generation before the current one,
// because its controller had not observed the latest spec.
func observed(value any, was, is int64) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if seen, ok := inner.(int64); ok && key == "observedGeneration" {
				now := is - 1
				if seen == was || was == 0 {
					now = is
				}
				value[key] = max(now, 0)
				continue
			}
			observed(inner, was, is)
		}
	case []any:
		for _, inner := range value {
			observed(inner, was, is)
		}
	}
}

// before maps a Job's final condition to the condition that precedes it.
var before = map[string]string{"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}

// completeJob adds the condition that precedes the final one. Validation requires it since
// Kubernetes 1.31; Jobs of older clusters do not have it.
func completeJob(status map[string]any) {
	conditions, _ := status["conditions"].([]any)
	var types []string
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if text, _ := fields["type"].(string); fields["status"] == "True" {
			types = append(types, text)
		}
	}
	for i, c := range conditions {
		fields, _ := c.(map[string]any)
		end, _ := fields["type"].(string)
		earlier, is := before[end]
		if !is || fields["status"] != "True" || slices.Contains(types, earlier) {
			continue
		}
		added := map[string]any{"type": earlier}
		for key, value := range fields {
			if key != "type" {
				added[key] = value
			}
		}
		status["conditions"] = slices.Insert(slices.Clone(conditions), i, any(added))
		return
	}
}
