package dump

import (
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What is changed in objects, and why.
const (
	changedConversion = "nothing answers their conversion webhooks here: versions are not converted"
	changedToken      = "the token is this cluster's own"
	changedNotReady   = "every node is simulated, and Ready: taints of its conditions are dropped"
	changedDebug      = "ephemeral containers are not started again"
	changedOwners     = "their owners are not in the dump, or were left out: the owner references are dropped"
	changedElsewhere  = "their nodes are not in the dump: they are scheduled anew"
	changedAddress    = "the cluster does not have what they had"
)

// clean makes of a dumped object what a client would create. The status stays: restorable
// picks it up. changed says what is other than in the dump; empty: nothing but what the API
// server sets itself.
func clean(o *unstructured.Unstructured) (changed string) {
	for _, field := range []string{"resourceVersion", "generation", "managedFields", "creationTimestamp", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	switch {
	case isKind(o, "apiextensions.k8s.io", "CustomResourceDefinition"):
		return cleanDefinition(o)
	case isKind(o, "batch", "Job"):
		cleanJob(o)
	case isCore(o, "Node"):
		return cleanNode(o)
	case isCore(o, "PersistentVolume"):
		unstructured.RemoveNestedField(o.Object, "spec", "claimRef", "resourceVersion")
	case isCore(o, "Pod"):
		return cleanPod(o)
	case isCore(o, "Secret"):
		return cleanSecret(o)
	}
	return ""
}

func cleanDefinition(crd *unstructured.Unstructured) (changed string) {
	delete(crd.Object, "status")
	if strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy"); strategy != "Webhook" {
		return ""
	}
	unstructured.RemoveNestedField(crd.Object, "spec", "conversion")
	return changedConversion
}

// The labels by which a Job knows its pods have its UID.
var uidLabels = []string{batchv1.ControllerUidLabel, "controller-uid"}

// cleanJob takes a Job's own UID out of its selector and labels, so that the API server puts
// in the new one.
func cleanJob(job *unstructured.Unstructured) {
	if manual, _, _ := unstructured.NestedBool(job.Object, "spec", "manualSelector"); manual {
		return
	}
	unstructured.RemoveNestedField(job.Object, "spec", "selector")
	own := job.GetLabels()
	template, _, _ := unstructured.NestedStringMap(job.Object, "spec", "template", "metadata", "labels")
	if maps.Equal(own, template) {
		job.SetLabels(nil) // they are the template's by default
	}
	for _, label := range uidLabels {
		unstructured.RemoveNestedField(job.Object, "metadata", "labels", label)
		unstructured.RemoveNestedField(job.Object, "spec", "template", "metadata", "labels", label)
	}
}

// cleanNode leaves of a Node what describes its machine. Its kubelet is a simulated one,
// which says itself how the node is.
func cleanNode(node *unstructured.Unstructured) (changed string) {
	for _, field := range []string{"daemonEndpoints", "volumesInUse", "volumesAttached", "config"} {
		unstructured.RemoveNestedField(node.Object, "status", field)
	}
	unstructured.RemoveNestedField(node.Object, "spec", "configSource")
	taints, _, _ := unstructured.NestedSlice(node.Object, "spec", "taints")
	var kept []any
	for _, taint := range taints {
		if fields, _ := taint.(map[string]any); fields == nil || !ofCondition(fields["key"]) {
			kept = append(kept, taint)
		}
	}
	if len(kept) == len(taints) {
		return ""
	}
	if len(kept) == 0 {
		unstructured.RemoveNestedField(node.Object, "spec", "taints")
	} else {
		_ = unstructured.SetNestedSlice(node.Object, kept, "spec", "taints") // spec is a map: it had taints
	}
	return changedNotReady
}

// ofCondition reports whether a taint follows from a condition that kubelets report.
func ofCondition(key any) bool {
	switch key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeNetworkUnavailable,
		corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure:
		return true
	}
	return false
}

func cleanPod(pod *unstructured.Unstructured) (changed string) {
	unstructured.RemoveNestedField(pod.Object, "status", "resize")
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "ephemeralContainers")
	unstructured.RemoveNestedField(pod.Object, "spec", "ephemeralContainers")
	unstructured.RemoveNestedField(pod.Object, "status", "ephemeralContainerStatuses")
	if len(containers) > 0 {
		return changedDebug
	}
	return ""
}

// cleanSecret takes the token out of a service account's Secret, for the controller that
// puts in one that this cluster accepts.
func cleanSecret(secret *unstructured.Unstructured) (changed string) {
	if secretType(secret) != corev1.SecretTypeServiceAccountToken {
		return ""
	}
	for _, key := range []string{corev1.ServiceAccountTokenKey, corev1.ServiceAccountRootCAKey, corev1.ServiceAccountNamespaceKey} {
		unstructured.RemoveNestedField(secret.Object, "data", key)
	}
	return changedToken
}

func secretType(secret *unstructured.Unstructured) corev1.SecretType {
	text, _, _ := unstructured.NestedString(secret.Object, "type")
	return corev1.SecretType(text)
}

// unbind takes a pod from a node that is not there, so that the scheduler finds it another.
func unbind(pod *unstructured.Unstructured) {
	unstructured.RemoveNestedField(pod.Object, "spec", "nodeName")
	delete(pod.Object, "status")
}

// uncluster takes out of a Service what only the cluster that it was in can give. With
// causes, fields of a refusal, only what these are about.
func uncluster(service *unstructured.Unstructured, causes []string) (changed []string) {
	about := func(prefix string) bool {
		if len(causes) == 0 {
			return true
		}
		for _, cause := range causes {
			if strings.HasPrefix(cause, prefix) {
				return true
			}
		}
		return false
	}
	drop := func(what string, field ...string) {
		if _, has, _ := unstructured.NestedFieldNoCopy(service.Object, field...); has {
			unstructured.RemoveNestedField(service.Object, field...)
			changed = append(changed, what)
		}
	}
	if families := about("spec.ipFamil"); families || about("spec.clusterIP") {
		if families {
			drop("IP families", "spec", "ipFamilies")
			drop("IP family policy", "spec", "ipFamilyPolicy")
		}
		if address, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP"); address != corev1.ClusterIPNone {
			drop("cluster IP", "spec", "clusterIP")
			unstructured.RemoveNestedField(service.Object, "spec", "clusterIPs")
		}
	}
	if about("spec.healthCheckNodePort") {
		drop("health check port", "spec", "healthCheckNodePort")
	}
	ports, _, _ := unstructured.NestedFieldNoCopy(service.Object, "spec", "ports")
	list, _ := ports.([]any)
	for i, port := range list {
		fields, _ := port.(map[string]any)
		if _, has := fields["nodePort"]; has && about("spec.ports["+itoa(i)+"].nodePort") {
			delete(fields, "nodePort")
			changed = append(changed, "node port of port "+itoa(i+1))
		}
	}
	return changed
}
