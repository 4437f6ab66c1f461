package decide

import (
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/storageversions"
)

// Suspects returns the API servers with an entry that are not known, in the order of the entries.
func Suspects(v *apiserverinternalv1alpha1.StorageVersion, known func(server string) bool) []string {
	var suspects []string
	for i := range v.Status.StorageVersions {
		if server := v.Status.StorageVersions[i].APIServerID; !known(server) {
			suspects = append(suspects, server)
		}
	}
	return suspects
}

// Decision is the change to make to a StorageVersion.
type Decision struct {
	// Status, if not nil, replaces the status.
	Status *apiserverinternalv1alpha1.StorageVersionStatus
	// Delete reports that no entry is left.
	Delete bool
}

// StorageVersion removes the entries of API servers that are gone. now is the time of a change of the condition.
func StorageVersion(v *apiserverinternalv1alpha1.StorageVersion, gone map[string]bool, now metav1.Time) Decision {
	kept := &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: metav1.ObjectMeta{Generation: v.Generation}, Status: v.Status}
	switch {
	case !storageversions.Keep(kept, func(server string) bool { return !gone[server] }, now):
		return Decision{}
	case len(kept.Status.StorageVersions) == 0:
		return Decision{Delete: true}
	}
	return Decision{Status: &kept.Status}
}
