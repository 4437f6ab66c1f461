package dump

import (
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// The reasons for which objects are changed.
const (
	changedConversion = "conversion webhooks are not available here: versions are not converted"
	changedToken      = "the token is replaced with one of this cluster"
	changedCondition  = "controllers add the taints of node conditions themselves: they are removed"
	changedClaim      = "they waited for volumes when the dump was taken, and get none here: the annotation minikcm.dev/provision-error is added"
	changedDebug      = "ephemeral containers are not restarted"
	changedOwners     = "the owners are not in the dump or were left out: the owner references are removed"
	changedElsewhere  = "the node is not in the dump: the pods are scheduled to other nodes"
	changedProbed     = "the process that answered the probes of the Pod is not in the dump: the annotation minikcm.dev/host is removed"
	changedHost       = "the process that served the Service is not in the dump: the annotation minikcm.dev/host is removed"
	changedAddress    = "the dumped values are not available in this cluster"
)

// clean turns a dumped object into one that a client would create. The status stays, for
// restorable. changed is the reason if anything else was changed than fields that the API
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
	case isCore(o, "Service"):
		return cleanService(o)
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

// uidLabels are the labels with a Job's UID that its selector matches.
var uidLabels = []string{batchv1.ControllerUidLabel, "controller-uid"}

// cleanJob removes a Job's UID from its selector and labels, so that the API server sets the
// new one.
func cleanJob(job *unstructured.Unstructured) {
	if manual, _, _ := unstructured.NestedBool(job.Object, "spec", "manualSelector"); manual {
		return
	}
	unstructured.RemoveNestedField(job.Object, "spec", "selector")
	own := job.GetLabels()
	template, _, _ := unstructured.NestedStringMap(job.Object, "spec", "template", "metadata", "labels")
	if maps.Equal(own, template) {
		job.SetLabels(nil) // the API server copies them from the template by default
	}
	for _, label := range uidLabels {
		unstructured.RemoveNestedField(job.Object, "metadata", "labels", label)
		unstructured.RemoveNestedField(job.Object, "spec", "template", "metadata", "labels", label)
	}
}

// cleanNode keeps the fields of a Node that describe its machine. The simulated kubelet
// reports the state itself. A Node that is not Ready keeps the taints that say so, with the times from
// which pods may tolerate them.
func cleanNode(node *unstructured.Unstructured) (changed string) {
	for _, field := range []string{"daemonEndpoints", "volumesInUse", "volumesAttached", "config"} {
		unstructured.RemoveNestedField(node.Object, "status", field)
	}
	unstructured.RemoveNestedField(node.Object, "spec", "configSource")
	taints, _, _ := unstructured.NestedSlice(node.Object, "spec", "taints")
	notReady := isNotReady(node)
	var kept []any
	for _, taint := range taints {
		if fields, _ := taint.(map[string]any); fields == nil || !ofCondition(fields["key"]) || notReady && ofReadiness(fields["key"]) {
			kept = append(kept, taint)
		}
	}
	if len(kept) == len(taints) {
		return ""
	}
	if len(kept) == 0 {
		unstructured.RemoveNestedField(node.Object, "spec", "taints")
	} else {
		_ = unstructured.SetNestedSlice(node.Object, kept, "spec", "taints") // cannot fail: spec is a map, since it had taints
	}
	return changedCondition
}

// isNotReady reports whether a Node has the condition Ready, and it is not true.
func isNotReady(node *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		fields, _ := c.(map[string]any)
		return fields["type"] == string(corev1.NodeReady) && fields["status"] != string(corev1.ConditionTrue)
	})
}

// ofReadiness reports whether a taint with the key is for the condition Ready.
func ofReadiness(key any) bool {
	return key == corev1.TaintNodeNotReady || key == corev1.TaintNodeUnreachable
}

// ofCondition reports whether a taint with the key is for a node condition, or for a state of the machine
// in a cloud that stands for one.
func ofCondition(key any) bool {
	switch key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeNetworkUnavailable,
		corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure,
		simulatedcloud.TaintShutdown, simulatedcloud.TaintUninitialized:
		return true
	}
	return false
}

// cleanService removes the address of a process that served the Service when it was dumped.
func cleanService(service *unstructured.Unstructured) (changed string) {
	if removeHost(service) {
		return changedHost
	}
	return ""
}

// removeHost removes the annotation that leads out of the cluster.
func removeHost(obj *unstructured.Unstructured) bool {
	_, led := obj.GetAnnotations()[hostaddress.Annotation]
	if led {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", hostaddress.Annotation)
	}
	return led
}

func cleanPod(pod *unstructured.Unstructured) (changed string) {
	unstructured.RemoveNestedField(pod.Object, "status", "resize")
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "ephemeralContainers")
	unstructured.RemoveNestedField(pod.Object, "spec", "ephemeralContainers")
	unstructured.RemoveNestedField(pod.Object, "status", "ephemeralContainerStatuses")
	if removeHost(pod) {
		changed = changedProbed
	}
	if len(containers) > 0 {
		return changedDebug
	}
	return changed
}

// cleanSecret removes the token from a service account's Secret. The token controller then
// adds one that this cluster accepts.
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

// unbind removes a pod's node, so that the scheduler selects another one.
func unbind(pod *unstructured.Unstructured) {
	unstructured.RemoveNestedField(pod.Object, "spec", "nodeName")
	delete(pod.Object, "status")
}

// uncluster removes the fields of a Service that its original cluster allocated. If causes,
// the fields that a refusal names, are given, it only removes the corresponding ones.
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

// provisionPatience is how long a provisioner may take to make a volume before it counts as failing.
const provisionPatience = 2 * time.Minute

// unprovisioned makes a claim wait for its volume if its provisioner had not provisioned one when the
// dump was taken. It reports whether it did.
func unprovisioned(claim *unstructured.Unstructured, taken time.Time) bool {
	phase, _, _ := unstructured.NestedString(claim.Object, "status", "phase")
	annotations := claim.GetAnnotations()
	asked := annotations["volume.kubernetes.io/storage-provisioner"] != "" || annotations["volume.beta.kubernetes.io/storage-provisioner"] != ""
	if !isCore(claim, "PersistentVolumeClaim") || phase != string(corev1.ClaimPending) || !asked || taken.Sub(claim.GetCreationTimestamp().Time) < provisionPatience {
		return false
	}
	annotations["minikcm.dev/provision-error"] = "no volume was provisioned in the cluster of the dump"
	claim.SetAnnotations(annotations)
	return true
}
