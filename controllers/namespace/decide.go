package namespace

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// finalizerEstimate is how long content that only waits for its finalizers is
// expected to take.
const finalizerEstimate = 15 * time.Second

// podResource goes before all other content.
var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// Resource is a kind of content that a namespace can have, as discovery tells it.
type Resource struct {
	GroupVersionResource schema.GroupVersionResource
	// Collection says that the whole collection can be deleted by one request.
	Collection bool
	// Listable says that what remains can be seen.
	Listable bool
}

// Leftover is what remained of one resource after its content was deleted.
type Leftover struct {
	Resource schema.GroupVersionResource
	Count    int
	// Finalizers counts, by finalizer, the objects that carry it.
	Finalizers map[string]int
	// Estimate is how long the rest should take; 0 when nothing remains.
	Estimate time.Duration
}

// Assess says what the objects that are left of a resource mean. grace is how
// long the slowest of them may take to end gracefully. Objects that have neither
// a grace period to wait for nor a finalizer should be gone: they are an error.
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

// Grace is how much longer the namespace's pods may take to end: the longest
// grace period of those that run, less the time since the namespace was deleted.
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

// Outcome is what one pass over a namespace's content came to.
type Outcome struct {
	DiscoveryErr    error
	GroupVersionErr error
	ContentErrs     []error
	Left            []Leftover
}

// Estimate is the longest time that any leftover should take.
func (o Outcome) Estimate() time.Duration {
	var longest time.Duration
	for _, left := range o.Left {
		longest = max(longest, left.Estimate)
	}
	return longest
}

// Err is every error of the pass, or nil.
func (o Outcome) Err() error {
	errs := append([]error{o.DiscoveryErr, o.GroupVersionErr}, o.ContentErrs...)
	return joinErrors(errs)
}

// RequeueAfter is when a namespace with leftovers is looked at again: half of
// what the slowest should take, and a second.
func RequeueAfter(estimate time.Duration) time.Duration {
	return estimate.Truncate(2*time.Second)/2 + time.Second
}

// NeedsContentDeletion reports whether the namespace is on its way out and still
// held by the finalizer that this controller removes.
func NeedsContentDeletion(ns *corev1.Namespace) bool {
	return !ns.DeletionTimestamp.IsZero() && len(ns.Spec.Finalizers) > 0
}

// WithoutFinalizer returns the finalizers less the one that this controller owns.
func WithoutFinalizer(finalizers []corev1.FinalizerName) []corev1.FinalizerName {
	kept := make([]corev1.FinalizerName, 0, len(finalizers))
	for _, finalizer := range finalizers {
		if finalizer != corev1.FinalizerKubernetes {
			kept = append(kept, finalizer)
		}
	}
	return kept
}
