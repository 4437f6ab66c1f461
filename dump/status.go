package dump

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// restorable returns the status of a dumped object that is written again once the object is
// there; nil: none is. Nodes are created with theirs, of namespaces and definitions the API
// server keeps it, and a pod without a node has not begun.
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

// readjust fits a status to the object as it was created: the generation that it is about,
// and the time that has passed since.
func readjust(o *unstructured.Unstructured, status map[string]any, was, is int64, passed time.Duration) {
	observed(status, was, is)
	if isBuiltin(o.GroupVersionKind().Group) && o.GroupVersionKind().Group != "certificates.k8s.io" {
		shiftTimes(status, passed)
	}
	if isKind(o, "batch", "Job") {
		completeJob(status)
	}
}

// observed replaces the generations that were observed: the one that was the newest, by the
// one that is; older ones by the one before: their observers
// have not seen the present spec.
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

// before has the condition that a Job has had before it is finished, by how it ends.
var before = map[string]string{"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}

// completeJob adds what Jobs had not before Kubernetes 1.31, and must have now to finish.
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
