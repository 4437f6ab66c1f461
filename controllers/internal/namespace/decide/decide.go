package decide

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// finalizerEstimate is the expected time for content that waits only for its finalizers.
const finalizerEstimate = 15 * time.Second

// PodResource is deleted before all other content.
var PodResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// Leftover describes the objects of one resource that remain after the deletion.
type Leftover struct {
	Resource schema.GroupVersionResource
	Count    int
	// Finalizers counts the objects by finalizer.
	Finalizers map[string]int
	// Estimate is the expected time until the rest is gone; 0 if nothing remains.
	Estimate time.Duration
}

// Assess assesses the remaining objects of a resource. grace is the longest remaining grace
// period. Objects that have neither a grace period to wait for nor a finalizer should be
// gone: they are an error.
func Assess(gvr schema.GroupVersionResource, namespace string, items []metav1.PartialObjectMetadata, grace time.Duration) (Leftover, error) {
	left := Leftover{Resource: gvr, Count: len(items)}
	if len(items) == 0 {
		return left, nil
	}
	left.Finalizers = map[string]int{}
	for i := range items {
		for _, finalizer := range items[i].Finalizers {
			left.Finalizers[finalizer]++
		}
	}
	switch {
	case grace > 0:
		left.Estimate = grace
	case len(left.Finalizers) > 0:
		left.Estimate = finalizerEstimate
	default:
		return left, fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", namespace, gvr)
	}
	return left, nil
}

// Grace returns the longest remaining time for the namespace's pods to end: the longest
// grace period of running pods, minus the time since the namespace was deleted.
func Grace(pods []*corev1.Pod, deleted, now time.Time) time.Duration {
	var longest time.Duration
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
			longest = max(longest, time.Duration(*seconds)*time.Second)
		}
	}
	if now.Sub(deleted) >= longest {
		return 0
	}
	return longest
}

// Outcome is the result of one pass over a namespace's content.
type Outcome struct {
	DiscoveryErr error
	// FailedGroups is the number of groups that DiscoveryErr is about; 0: it is about all.
	FailedGroups    int
	GroupVersionErr error
	ContentErrs     []error
	Left            []Leftover
}

// Estimate returns the longest estimate of the leftovers.
func (o Outcome) Estimate() time.Duration {
	var longest time.Duration
	for _, left := range o.Left {
		longest = max(longest, left.Estimate)
	}
	return longest
}

// Err joins the errors of the pass; nil if there are none.
func (o Outcome) Err() error {
	errs := append([]error{o.DiscoveryErr, o.GroupVersionErr}, o.ContentErrs...)
	return joinErrors(errs)
}

// RequeueAfter returns the delay before the next pass over a namespace with leftovers: half
// of the longest estimate, plus a second.
func RequeueAfter(estimate time.Duration) time.Duration {
	return estimate.Truncate(2*time.Second)/2 + time.Second
}

// NeedsContentDeletion reports whether the namespace is being deleted and still has the
// finalizer that this controller removes.
func NeedsContentDeletion(ns *corev1.Namespace) bool {
	return !ns.DeletionTimestamp.IsZero() && len(ns.Spec.Finalizers) > 0
}

// WithoutFinalizer returns the finalizers without the one that this controller owns.
func WithoutFinalizer(finalizers []corev1.FinalizerName) []corev1.FinalizerName {
	kept := make([]corev1.FinalizerName, 0, len(finalizers))
	for _, finalizer := range finalizers {
		if finalizer != corev1.FinalizerKubernetes {
			kept = append(kept, finalizer)
		}
	}
	return kept
}
