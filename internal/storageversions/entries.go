package storageversions

import (
	"slices"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Set adds the entry of an API server, or replaces the one that it has, and updates the common fields.
func Set(v *apiserverinternalv1alpha1.StorageVersion, entry apiserverinternalv1alpha1.ServerStorageVersion, now metav1.Time) {
	entries := slices.Clone(v.Status.StorageVersions)
	same := func(e apiserverinternalv1alpha1.ServerStorageVersion) bool { return e.APIServerID == entry.APIServerID }
	if i := slices.IndexFunc(entries, same); i >= 0 {
		entries[i] = entry
	} else {
		entries = append(entries, entry)
	}
	v.Status.StorageVersions = entries
	setCommon(v, now)
}

// Keep removes the entries of API servers that keep does not name, and updates the common fields. It reports
// whether there were any; without, v stays as it is.
func Keep(v *apiserverinternalv1alpha1.StorageVersion, keep func(server string) bool, now metav1.Time) bool {
	var kept []apiserverinternalv1alpha1.ServerStorageVersion
	for _, entry := range v.Status.StorageVersions {
		if keep(entry.APIServerID) {
			kept = append(kept, entry)
		}
	}
	if len(kept) == len(v.Status.StorageVersions) {
		return false
	}
	v.Status.StorageVersions = kept
	setCommon(v, now)
	return true
}

// setCommon sets the version that all servers encode, if there is one, and the condition that says whether there is.
// The time of the condition's transition also changes with the version.
func setCommon(v *apiserverinternalv1alpha1.StorageVersion, now metav1.Time) {
	before := v.Status.CommonEncodingVersion
	common := commonOf(v.Status.StorageVersions)
	v.Status.CommonEncodingVersion = common
	condition := apiserverinternalv1alpha1.StorageVersionCondition{
		Type: apiserverinternalv1alpha1.AllEncodingVersionsEqual, Status: apiserverinternalv1alpha1.ConditionFalse,
		ObservedGeneration: v.Generation, LastTransitionTime: now,
		Reason: "CommonEncodingVersionUnset", Message: "Common encoding version unset",
	}
	if common != nil {
		condition.Status, condition.Reason, condition.Message = apiserverinternalv1alpha1.ConditionTrue, "CommonEncodingVersionSet", "Common encoding version set"
	}
	conditions := slices.Clone(v.Status.Conditions)
	i := slices.IndexFunc(conditions, func(c apiserverinternalv1alpha1.StorageVersionCondition) bool { return c.Type == condition.Type })
	if i < 0 {
		v.Status.Conditions = append(conditions, condition)
		return
	}
	replaced := before != nil && common != nil && *before != *common
	if conditions[i].Status == condition.Status && !replaced {
		condition.LastTransitionTime = conditions[i].LastTransitionTime
	}
	conditions[i] = condition
	v.Status.Conditions = conditions
}

// commonOf returns the version that all servers encode; nil if they differ, and without servers.
func commonOf(entries []apiserverinternalv1alpha1.ServerStorageVersion) *string {
	for _, entry := range entries {
		if entry.EncodingVersion != entries[0].EncodingVersion {
			return nil
		}
	}
	if len(entries) == 0 {
		return nil
	}
	version := entries[0].EncodingVersion
	return &version
}
