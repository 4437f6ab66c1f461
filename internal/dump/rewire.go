package dump

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// rewire replaces every UID of the dump within a value with the new UID of its object: in
// owner references, the labels of a Job's pods, and references in endpoints and volumes.
// Unknown UIDs stay unchanged.
func rewire(value any, uids map[types.UID]types.UID) {
	eachText(value, func(text string) string {
		if uid, known := uids[types.UID(text)]; known {
			return string(uid)
		}
		return text
	})
}

// dropOwners removes references to owners that do not exist, because of which the garbage
// collector would delete the object. It reports whether it removed any.
func dropOwners(o *unstructured.Unstructured, uids map[types.UID]types.UID) bool {
	owners := o.GetOwnerReferences()
	var kept []metav1.OwnerReference
	for i := range owners {
		if _, known := uids[owners[i].UID]; known {
			kept = append(kept, owners[i])
		}
	}
	if len(kept) == len(owners) {
		return false
	}
	o.SetOwnerReferences(kept)
	return true
}
