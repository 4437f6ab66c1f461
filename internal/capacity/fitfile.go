package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scalable are the kinds whose spec.replicas Fit raises from 0.
var scalable = []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"}

// Prepare applies the objects of a file to the fork, with no replicas of its workload, so that Fit finds out
// how many fit. The workload is target or, if that is nil, the only one of the file. A Pod becomes a
// ReplicaSet of such pods. Prepare returns an InputError if the file has no such workload, or if the API
// server refuses one of its objects.
func (f *Fork) Prepare(ctx context.Context, path string, target *Target, namespace string) (*Target, error) {
	objects, err := readFile(path, namespace)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for i, o := range objects {
		if o.GetKind() == "Pod" && o.GetAPIVersion() == "v1" {
			objects[i] = setOf(o)
		}
		if is := objects[i]; slices.Contains(scalable, is.GetKind()) && (target == nil || sameTarget(target, o) || sameTarget(target, is)) {
			found = append(found, is)
		}
	}
	if len(found) != 1 {
		return nil, wrongWorkloads(path, target, found)
	}
	workload := found[0]
	if err := unstructured.SetNestedField(workload.Object, int64(0), "spec", "replicas"); err != nil {
		return nil, input("%s of %s: %w", titleOf(workload), path, err)
	}
	rejected, err := f.applyAll(ctx, objects)
	if err != nil {
		return nil, err
	}
	if len(rejected) > 0 {
		return nil, input("applying %s of %s: %s", rejected[0].Object, path, rejected[0].Error)
	}
	if _, err := f.settle(ctx); err != nil {
		return nil, fmt.Errorf("letting the fork settle with the objects of %s: %w", path, err)
	}
	return &Target{Kind: strings.ToLower(workload.GetKind()), Namespace: workload.GetNamespace(), Name: workload.GetName(), ofPod: isOfPod(workload)}, nil
}

// sameTarget reports whether an object is a target, whose kind may be written as a resource or a short name.
func sameTarget(t *Target, o *unstructured.Unstructured) bool {
	kind := strings.ToLower(o.GetKind())
	names := []string{kind, kind + "s", map[string]string{"deployment": "deploy", "replicaset": "rs", "statefulset": "sts", "replicationcontroller": "rc", "pod": "po"}[kind]}
	resource, _, _ := strings.Cut(strings.ToLower(t.Kind), ".")
	return t.Name == o.GetName() && t.Namespace == o.GetNamespace() && slices.Contains(names, resource)
}

func wrongWorkloads(path string, target *Target, found []*unstructured.Unstructured) error {
	switch {
	case target != nil:
		return input("%s has no %s", path, target)
	case len(found) == 0:
		return input("%s has no workload with replicas: it needs a %s or a Pod", path, strings.Join(scalable, ", "))
	}
	names := make([]string, len(found))
	for i, o := range found {
		names[i] = strings.ToLower(o.GetKind()) + "/" + o.GetName()
		if isOfPod(o) {
			names[i] = "pod/" + o.GetName()
		}
	}
	return input("%s has several workloads: say which one, as %s", path, strings.Join(names, " or "))
}

// fitLabel selects the pods of the ReplicaSet that takes the place of a Pod.
const fitLabel = "minikcm.dev/fit"

// isOfPod reports whether a workload is the ReplicaSet that setOf returns for a Pod.
func isOfPod(o *unstructured.Unstructured) bool {
	selects, _, _ := unstructured.NestedString(o.Object, "spec", "selector", "matchLabels", fitLabel)
	return selects != ""
}

// setOf returns a ReplicaSet of pods like one.
func setOf(pod *unstructured.Unstructured) *unstructured.Unstructured {
	spec, _, _ := unstructured.NestedMap(pod.Object, "spec")
	delete(spec, "nodeName")
	labels := map[string]any{fitLabel: pod.GetName()}
	for key, value := range pod.GetLabels() {
		labels[key] = value
	}
	meta := map[string]any{"labels": labels}
	if annotations, has, _ := unstructured.NestedMap(pod.Object, "metadata", "annotations"); has {
		meta["annotations"] = annotations
	}
	spec["restartPolicy"] = "Always"
	set := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{fitLabel: pod.GetName()}},
			"template": map[string]any{"metadata": meta, "spec": spec},
		},
	}}
	set.SetAPIVersion("apps/v1")
	set.SetKind("ReplicaSet")
	set.SetNamespace(pod.GetNamespace())
	set.SetName(pod.GetName())
	return set
}
