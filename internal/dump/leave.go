package dump

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The reasons for which objects are left out.
const (
	leftEvent      = "events belong to the history of the dumped cluster"
	leftLease      = "leases are created and renewed by their holders"
	leftWebhook    = "admission webhooks are not available here"
	leftAggregated = "aggregated API servers are not available here"
	leftOwn        = "the cluster has its own"
	leftSigning    = "certificate requests belong to the signer of the dumped cluster"
	leftMetrics    = "the cluster produces its own metrics"
	leftAddress    = "the API server creates them for Services"
	leftLive       = "they show and control the process that they are in"
	leftTwice      = "the dump contains them more than once"
	leftKind       = "the cluster does not serve their kind: the dump has no CustomResourceDefinition for it"
	leftVersion    = "the cluster does not serve this version of their kind"
	leftStatic     = "the node is not in the dump, and the pods cannot run on another one"
	leftEnded      = "the pods have ended, and the node is not in the dump"
	leftAgain      = "they have ended, and would run again"
	leftOwned      = "the cluster's controllers create them for their owners"
)

// leftOut returns the reason for which an object is left out regardless of the rest of the
// dump, or "" if it is not.
func leftOut(o *unstructured.Unstructured) string {
	gvk := o.GroupVersionKind()
	switch gvk.Group {
	case "":
		return leftOutOfCore(o)
	case "events.k8s.io":
		return leftEvent
	case "metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io":
		return leftMetrics
	}
	switch gvk.Kind + "." + gvk.Group {
	case "Lease.coordination.k8s.io":
		return leftLease
	case "MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io":
		return leftWebhook
	case "CertificateSigningRequest.certificates.k8s.io", "PodCertificateRequest.certificates.k8s.io":
		return leftSigning
	case "ClusterTrustBundle.certificates.k8s.io":
		if signer, _, _ := unstructured.NestedString(o.Object, "spec", "signerName"); signer == "kubernetes.io/kube-apiserver-serving" {
			return leftOwn
		}
	case "IPAddress.networking.k8s.io":
		return leftAddress
	case "APIService.apiregistration.k8s.io":
		if service, _, _ := unstructured.NestedMap(o.Object, "spec", "service"); service != nil {
			return leftAggregated
		}
		return leftOwn
	case "StorageVersion.internal.apiserver.k8s.io":
		return leftOwn
	case "Clock.simulation.minikcm.dev", "Fault.simulation.minikcm.dev", "ScenarioRun.simulation.minikcm.dev", "Fork.simulation.minikcm.dev", "AccessRecording.simulation.minikcm.dev":
		return leftLive
	case "FlowSchema.flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io":
		if _, own := o.GetAnnotations()["apf.kubernetes.io/autoupdate-spec"]; own {
			return leftOwn
		}
	case "EndpointSlice.discovery.k8s.io":
		if ofTheAPIServer(o) {
			return leftOwn
		}
	}
	return ""
}

func leftOutOfCore(o *unstructured.Unstructured) string {
	switch o.GetKind() {
	case "Event":
		return leftEvent
	case "ComponentStatus":
		return leftOwn
	case "Service", "Endpoints":
		if ofTheAPIServer(o) {
			return leftOwn
		}
	case "ConfigMap":
		if o.GetName() == "kube-root-ca.crt" || o.GetNamespace() == metav1.NamespaceSystem && o.GetName() == "extension-apiserver-authentication" {
			return leftOwn
		}
	}
	return ""
}

// ofTheAPIServer reports whether an object belongs to the kubernetes Service, through which
// pods reach the API server.
func ofTheAPIServer(o *unstructured.Unstructured) bool {
	service := o.GetName()
	if label, is := o.GetLabels()["kubernetes.io/service-name"]; is {
		service = label
	}
	return o.GetNamespace() == metav1.NamespaceDefault && service == "kubernetes"
}

// leftElsewhere returns the reason for which an object is left out with Options.RootsOnly, or
// "" if it is not. It leaves out objects that controllers create for other loaded objects and
// that would exist twice otherwise.
func leftElsewhere(o *unstructured.Unstructured) string {
	switch {
	case metav1.GetControllerOf(o) != nil:
		return leftOwned
	case isCore(o, "Endpoints") && o.GetAnnotations()["endpoints.kubernetes.io/last-change-trigger-time"] != "",
		isKind(o, "discovery.k8s.io", "EndpointSlice") && o.GetLabels()["endpointslice.kubernetes.io/managed-by"] != "":
		return leftOwned
	case isCore(o, "Pod") && ended(o), isKind(o, "batch", "Job") && jobEnded(o):
		return leftAgain
	}
	return ""
}

// beingDeleted reports whether an object was being deleted when the dump was taken.
func beingDeleted(o *unstructured.Unstructured) bool {
	if o.GetDeletionTimestamp() != nil {
		return true
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return isCore(o, "Namespace") && phase == "Terminating"
}

// ended reports whether a pod has succeeded or failed.
func ended(pod *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	return phase == "Succeeded" || phase == "Failed"
}

// jobEnded reports whether a Job is complete or has failed.
func jobEnded(job *unstructured.Unstructured) bool {
	return conditionIsTrue(job, "Complete") || conditionIsTrue(job, "Failed")
}

func conditionIsTrue(o *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		fields, _ := c.(map[string]any)
		return fields["type"] == kind && fields["status"] == "True"
	})
}

// bound returns the node that a pod is bound to, or "".
func bound(pod *unstructured.Unstructured) string {
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	return node
}

// unplaceable returns the reason why a pod whose node is missing cannot move to another node,
// or "" if it can.
func unplaceable(pod *unstructured.Unstructured) string {
	owner := metav1.GetControllerOf(pod)
	_, mirror := pod.GetAnnotations()["kubernetes.io/config.mirror"]
	switch {
	case ended(pod):
		return leftEnded
	case mirror, owner != nil && strings.EqualFold(owner.Kind, "Node"), owner != nil && owner.Kind == "DaemonSet":
		return leftStatic
	}
	return ""
}
