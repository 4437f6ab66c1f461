package dump

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Why objects are left out.
const (
	leftEvent      = "events are the record of another cluster"
	leftLease      = "leases are renewed by their holders"
	leftWebhook    = "nothing answers the calls of admission webhooks here"
	leftAggregated = "nothing answers for aggregated API servers here"
	leftOwn        = "the cluster has its own"
	leftSigning    = "requests for certificates are another authority's"
	leftMetrics    = "the cluster measures by itself"
	leftAddress    = "the API server makes them for Services"
	leftTwice      = "they are in the dump more than once"
	leftKind       = "the cluster does not serve their kind: the dump has no CustomResourceDefinition of it"
	leftVersion    = "the cluster does not serve this version of their kind"
	leftStatic     = "their node is not in the dump, and no other one can have them"
	leftEnded      = "they have ended, and their node is not in the dump"
	leftAgain      = "they have ended, and would run again"
	leftOwned      = "controllers that run meanwhile make them anew for their owners"
)

// leftOut returns why an object is left out whatever else the dump has; empty: it is not.
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
	case "IPAddress.networking.k8s.io":
		return leftAddress
	case "APIService.apiregistration.k8s.io":
		if service, _, _ := unstructured.NestedMap(o.Object, "spec", "service"); service != nil {
			return leftAggregated
		}
		return leftOwn
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
		return leftMetrics
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

// ofTheAPIServer reports whether an object belongs to the Service kubernetes, by which pods
// find the API server.
func ofTheAPIServer(o *unstructured.Unstructured) bool {
	service := o.GetName()
	if label, is := o.GetLabels()["kubernetes.io/service-name"]; is {
		service = label
	}
	return o.GetNamespace() == metav1.NamespaceDefault && service == "kubernetes"
}

// leftElsewhere returns why an object is left out of a cluster whose controllers run
// meanwhile; empty: it is not. Whatever a controller makes of what else is loaded would be
// there twice.
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

// beingDeleted reports whether an object was about to go when the dump was taken.
func beingDeleted(o *unstructured.Unstructured) bool {
	if o.GetDeletionTimestamp() != nil {
		return true
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return isCore(o, "Namespace") && phase == "Terminating"
}

// ended reports whether a pod has come to its end.
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

// bound returns the node that a pod is on; empty: none.
func bound(pod *unstructured.Unstructured) string {
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	return node
}

// unplaceable returns why a pod whose node is missing cannot be sent to another one; empty:
// it can.
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
