package reasons

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Control describes the control of the number of objects like o, such as a pod: the replicas of its
// outermost controller, and the autoscaler that sets them. It is empty if no such controller is known.
func (x *Index) Control(o *unstructured.Unstructured) string {
	top := x.top(o)
	f := fieldsOf(top)
	switch top.GetKind() {
	case "DaemonSet":
		return fmt.Sprintf("%s has a pod on each of %d nodes", Name(top), f.number("status", "desiredNumberScheduled"))
	case "Job":
		return fmt.Sprintf("%s runs %d pods at a time (spec.parallelism)", Name(top), f.numberOr(1, "spec", "parallelism"))
	}
	if text := x.Autoscaling(top); text != "" {
		return text
	}
	if top.GetUID() != o.GetUID() && f.has("spec", "replicas") {
		return fmt.Sprintf("%s has %d replicas by its spec.replicas", Name(top), f.replicas())
	}
	return ""
}

// Autoscaling says which autoscaler sets the replicas of an object, and why to that number; "" if none does.
func (x *Index) Autoscaling(o *unstructured.Unstructured) string {
	scaler := x.scalerOf(o)
	if scaler == nil {
		return ""
	}
	return fmt.Sprintf("%s sets the replicas of %s: %s", Name(scaler), Name(o), scaling(fieldsOf(scaler)))
}

// top returns the outermost known controller of an object, or the object.
func (x *Index) top(o *unstructured.Unstructured) *unstructured.Unstructured {
	for range maxDepth {
		owner := metav1.GetControllerOfNoCopy(o)
		if owner == nil {
			return o
		}
		above := x.byUID(owner.UID)
		if above == nil {
			return o
		}
		o = above
	}
	return o
}

func (x *Index) byUID(uid types.UID) *unstructured.Unstructured {
	for i := range x.objects {
		if x.objects[i].meta.GetUID() == uid {
			return x.objects[i].unstructured()
		}
	}
	return nil
}

// scalerOf returns the HorizontalPodAutoscaler of an object, or nil.
func (x *Index) scalerOf(o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, it := range x.objects {
		if it.kind.Kind != "HorizontalPodAutoscaler" || it.kind.Group != "autoscaling" || it.meta.GetNamespace() != o.GetNamespace() {
			continue
		}
		scaler := it.unstructured()
		if scaler == nil {
			continue
		}
		target := fieldsOf(scaler).within("spec", "scaleTargetRef")
		group, _, _ := strings.Cut(target.text("apiVersion"), "/")
		if target.text("kind") == o.GetKind() && target.text("name") == o.GetName() && (group == o.GroupVersionKind().Group || o.GroupVersionKind().Group == "") {
			return scaler
		}
	}
	return nil
}

// scaling describes the size that an autoscaler wants, and its measurements.
func scaling(f fields) string {
	text := fmt.Sprintf("it wants %d, of %d to %d", f.number("status", "desiredReplicas"), f.numberOr(1, "spec", "minReplicas"), f.number("spec", "maxReplicas"))
	wanted := map[string]int64{}
	for _, metric := range f.list("spec", "metrics") {
		if percent := metric.number("resource", "target", "averageUtilization"); percent > 0 {
			wanted[metric.text("resource", "name")] = percent
		}
	}
	for _, metric := range f.list("status", "currentMetrics") {
		name := metric.text("resource", "name")
		if is := metric.within("resource", "current"); is.has("averageUtilization") {
			text += fmt.Sprintf(", %s is at %d %%", name, is.number("averageUtilization"))
			if percent, ok := wanted[name]; ok {
				text += fmt.Sprintf(" with a target of %d %%", percent)
			}
		}
	}
	return text
}
