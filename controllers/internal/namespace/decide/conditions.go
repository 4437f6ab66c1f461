package decide

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// joinErrors aggregates the errors that are not nil, as client-go does, so that conditions
// and logs have the text that operators know.
func joinErrors(errs []error) error { return utilerrors.NewAggregate(errs) }

// Conditions returns the outcome as the five conditions of a terminating namespace.
func (o Outcome) Conditions(now metav1.Time) []corev1.NamespaceCondition {
	conditions := []corev1.NamespaceCondition{
		o.discoveryCondition(), o.groupVersionCondition(), o.contentCondition(),
		o.remainingCondition(), o.finalizersCondition(),
	}
	for i := range conditions {
		conditions[i].LastTransitionTime = now
	}
	return conditions
}

func condition(t corev1.NamespaceConditionType, bad bool, reason, message string) corev1.NamespaceCondition {
	status := corev1.ConditionFalse
	if bad {
		status = corev1.ConditionTrue
	}
	return corev1.NamespaceCondition{Type: t, Status: status, Reason: reason, Message: message}
}

func (o Outcome) discoveryCondition() corev1.NamespaceCondition {
	if o.DiscoveryErr == nil {
		return condition(corev1.NamespaceDeletionDiscoveryFailure, false, "ResourcesDiscovered", "All resources successfully discovered")
	}
	message := o.DiscoveryErr.Error()
	if o.FailedGroups > 0 {
		message = fmt.Sprintf("Discovery failed for some groups, %d failing: %v", o.FailedGroups, o.DiscoveryErr)
	}
	return condition(corev1.NamespaceDeletionDiscoveryFailure, true, "DiscoveryFailed", message)
}

func (o Outcome) groupVersionCondition() corev1.NamespaceCondition {
	if o.GroupVersionErr == nil {
		return condition(corev1.NamespaceDeletionGVParsingFailure, false, "ParsedGroupVersions", "All legacy kube types successfully parsed")
	}
	return condition(corev1.NamespaceDeletionGVParsingFailure, true, "GroupVersionParsingFailed", o.GroupVersionErr.Error())
}

func (o Outcome) contentCondition() corev1.NamespaceCondition {
	if len(o.ContentErrs) == 0 {
		return condition(corev1.NamespaceDeletionContentFailure, false, "ContentDeleted", "All content successfully deleted, may be waiting on finalization")
	}
	messages := make([]string, len(o.ContentErrs))
	for i, err := range o.ContentErrs {
		messages[i] = err.Error()
	}
	slices.Sort(messages)
	return condition(corev1.NamespaceDeletionContentFailure, true, "ContentDeletionFailed",
		fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(messages), strings.Join(messages, ", ")))
}

func (o Outcome) remainingCondition() corev1.NamespaceCondition {
	var parts []string
	for _, left := range o.Left {
		if left.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s.%s has %d resource instances", left.Resource.Resource, left.Resource.Group, left.Count))
		}
	}
	if len(parts) == 0 {
		return condition(corev1.NamespaceContentRemaining, false, "ContentRemoved", "All content successfully removed")
	}
	slices.Sort(parts)
	return condition(corev1.NamespaceContentRemaining, true, "SomeResourcesRemain",
		"Some resources are remaining: "+strings.Join(parts, ", "))
}

func (o Outcome) finalizersCondition() corev1.NamespaceCondition {
	counts := map[string]int{}
	for _, left := range o.Left {
		for finalizer, n := range left.Finalizers {
			counts[finalizer] += n
		}
	}
	if len(counts) == 0 {
		return condition(corev1.NamespaceFinalizersRemaining, false, "ContentHasNoFinalizers", "All content-preserving finalizers finished")
	}
	parts := make([]string, 0, len(counts))
	for finalizer, n := range counts {
		parts = append(parts, fmt.Sprintf("%s in %d resource instances", finalizer, n))
	}
	slices.Sort(parts)
	return condition(corev1.NamespaceFinalizersRemaining, true, "SomeFinalizersRemain",
		"Some content in the namespace has finalizers remaining: "+strings.Join(parts, ", "))
}

// MergeConditions merges found into the conditions of the namespace. A condition that does
// not change keeps its transition time; changed is false if none changes.
func MergeConditions(current, found []corev1.NamespaceCondition) (merged []corev1.NamespaceCondition, changed bool) {
	merged = slices.Clone(current)
	for _, next := range found {
		i := slices.IndexFunc(merged, func(c corev1.NamespaceCondition) bool { return c.Type == next.Type })
		if i < 0 {
			merged, changed = append(merged, next), true
			continue
		}
		if merged[i].Status == next.Status && merged[i].Reason == next.Reason && merged[i].Message == next.Message {
			continue
		}
		if merged[i].Status == next.Status {
			next.LastTransitionTime = merged[i].LastTransitionTime
		}
		merged[i], changed = next, true
	}
	return merged, changed
}
