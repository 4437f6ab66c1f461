package crd

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// setCondition sets a condition with the cluster's time as the transition time, which
// changes only if the status does.
func setCondition(d *apiextensionsv1.CustomResourceDefinition, c apiextensionsv1.CustomResourceDefinitionCondition, now metav1.Time) {
	c.LastTransitionTime = now
	c.ObservedGeneration = 0
	old := apihelpers.FindCRDCondition(d, c.Type)
	if old == nil {
		// Other objects may share the slice.
		d.Status.Conditions = append(slices.Clip(d.Status.Conditions), c)
		return
	}
	if old.Status == c.Status && !old.LastTransitionTime.IsZero() {
		c.LastTransitionTime = old.LastTransitionTime
	}
	conditions := slices.Clone(d.Status.Conditions)
	for i := range conditions {
		if conditions[i].Type == c.Type {
			c.ObservedGeneration = conditions[i].ObservedGeneration
			conditions[i] = c
		}
	}
	d.Status.Conditions = conditions
}

func isTrue(d *apiextensionsv1.CustomResourceDefinition, t apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	return apihelpers.IsCRDConditionTrue(d, t)
}

// Served reports whether the definition's objects are served: its names have been
// accepted at some time.
func Served(d *apiextensionsv1.CustomResourceDefinition) bool {
	return isTrue(d, apiextensionsv1.Established)
}

// Terminating reports whether the definition is being deleted.
func Terminating(d *apiextensionsv1.CustomResourceDefinition) bool {
	return d.DeletionTimestamp != nil
}

// NeedsCleanup reports whether the definition waits for the deletion of its objects.
func NeedsCleanup(d *apiextensionsv1.CustomResourceDefinition) bool {
	return Terminating(d) && apihelpers.CRDHasFinalizer(d, apiextensionsv1.CustomResourceCleanupFinalizer)
}

// markDeleted marks a definition for deletion. As upstream, it gets neither a grace period nor a new
// generation.
func markDeleted(obj runtime.Object) {
	d := obj.(*apiextensionsv1.CustomResourceDefinition)
	d.DeletionGracePeriodSeconds = nil
	d.Generation--
	if !apihelpers.CRDHasFinalizer(d, apiextensionsv1.CustomResourceCleanupFinalizer) {
		d.Finalizers = append(slices.Clip(d.Finalizers), apiextensionsv1.CustomResourceCleanupFinalizer)
	}
	setCondition(d, terminating(apiextensionsv1.ConditionTrue, "InstanceDeletionPending",
		"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"), *d.DeletionTimestamp)
}

func terminating(status apiextensionsv1.ConditionStatus, reason, message string) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: status, Reason: reason, Message: message,
	}
}

// Emptying sets the condition that the objects are being deleted.
func Emptying(d *apiextensionsv1.CustomResourceDefinition, now metav1.Time) {
	setCondition(d, terminating(apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "CustomResource deletion is in progress"), now)
}

// Emptied sets the condition that all objects are deleted, and removes the finalizer.
func Emptied(d *apiextensionsv1.CustomResourceDefinition, now metav1.Time) {
	reason, message := "InstanceDeletionCompleted", "removed all instances"
	if !Served(d) {
		reason, message = "NeverEstablished", "resource was never established"
	}
	setCondition(d, terminating(apiextensionsv1.ConditionFalse, reason, message), now)
	d.Finalizers = slices.DeleteFunc(slices.Clone(d.Finalizers), func(f string) bool {
		return f == apiextensionsv1.CustomResourceCleanupFinalizer
	})
}

// NamesAccepted reports whether the definition has all the names that it requests.
func NamesAccepted(d *apiextensionsv1.CustomResourceDefinition) bool {
	return isTrue(d, apiextensionsv1.NamesAccepted)
}
