package reasons

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// condition returns the condition of a type; nil if there is none.
func (f fields) condition(kind string) fields {
	for _, c := range f.list("status", "conditions") {
		if c.text("type") == kind {
			return c
		}
	}
	return nil
}

// meaning says which status of a condition is good.
type meaning int

const (
	neutral meaning = iota
	goodWhenTrue
	badWhenTrue
)

// goodConditions and badWords classify conditions by their types, because no field does:
// the types of the built-in kinds, and those that the conventions of controller-runtime,
// Gateway API, Cluster API, Flux and Crossplane share.
var (
	goodConditions = []string{
		"Initialized", "PodScheduled", "Established", "NamesAccepted", "KubernetesAPIApprovalPolicyConformant",
		"AbleToScale", "ScalingActive", "DisruptionAllowed", "Synced", "Reconciled", "Programmed", "ResolvedRefs", "Valid", "Approved",
	}
	goodEndings = []string{"Ready", "Available", "Healthy", "Accepted", "Reachable", "Succeeded", "Installed"}
	badWords    = []string{
		"Fail", "Error", "Degraded", "Stalled", "Pressure", "Unavailable", "Remaining", "Conflict", "Denied", "Invalid", "NonStructural", "DisruptionTarget",
		"PodResizePending", "Unhealthy", "Misconfigured",
	}
)

func meaningOf(kind, condition string) meaning {
	switch {
	case condition == "PodReadyToStartContainers": // the states of the containers are more precise
		return neutral
	case kind == "Deployment" && condition == "Progressing":
		return goodWhenTrue
	case kind == "Job" && condition == "Suspended":
		return badWhenTrue
	case slices.Contains(goodConditions, condition):
		return goodWhenTrue
	case slices.ContainsFunc(badWords, func(word string) bool { return strings.Contains(condition, word) }):
		return badWhenTrue
	case slices.ContainsFunc(goodEndings, func(ending string) bool { return strings.HasSuffix(condition, ending) }):
		return goodWhenTrue
	}
	return neutral
}

// badConditions returns the conditions whose status is bad, in the object's order.
func badConditions(o *unstructured.Unstructured) []fields {
	var bad []fields
	for _, c := range fieldsOf(o).list("status", "conditions") {
		status := c.text("status")
		switch meaningOf(o.GetKind(), c.text("type")) {
		case goodWhenTrue:
			// A pod that has completed is not ready any more.
			if status != "True" && status != "" && c.text("reason") != "PodCompleted" {
				bad = append(bad, c)
			}
		case badWhenTrue:
			if status == "True" {
				bad = append(bad, c)
			}
		}
	}
	return bad
}

// remarks returns the conditions of a custom object whose meaning is unknown here, that are
// False and have a message. A type that ends in -ing describes an activity, and is no
// reason while it is False.
func remarks(o *unstructured.Unstructured) []fields {
	if group := o.GroupVersionKind().Group; !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		return nil // all conditions of these groups are known
	}
	var all []fields
	for _, c := range fieldsOf(o).list("status", "conditions") {
		if kind := c.text("type"); meaningOf(o.GetKind(), kind) == neutral && c.text("status") == "False" &&
			c.text("message") != "" && !strings.HasSuffix(kind, "ing") {
			all = append(all, c)
		}
	}
	return all
}

// rankOf distinguishes conditions that are causes, verdicts of controllers, and
// consequences of others.
func rankOf(kind, condition string) rank {
	switch {
	case kind == "Pod" && slices.Contains([]string{"Ready", "ContainersReady", "Initialized"}, condition),
		kind == "Deployment" && condition == "Available":
		return consequence
	case kind == "Job", kind == "Namespace" && condition == "NamespaceContentRemaining", kind == "PodDisruptionBudget", slices.Contains([]string{"Ready", "Available", "Healthy", "Progressing", "Reconciled"}, condition):
		return verdict
	}
	return cause
}

func (a *answer) conditions(o *unstructured.Unstructured) {
	kind := o.GetKind()
	failed := kind == "Job" && fieldsOf(o).condition("Failed").text("status") == "True"
	for _, c := range badConditions(o) {
		if failed && c.text("type") == "FailureTarget" {
			continue // it only announced the condition Failed
		}
		a.add(rankOf(kind, c.text("type")), conditionReason(c))
	}
	for _, c := range remarks(o) {
		a.add(verdict, conditionReason(c))
	}
}

func conditionReason(c fields) Reason {
	return Reason{Source: c.text("type") + " is " + c.text("status"), Reason: c.text("reason"), Message: c.text("message")}
}
