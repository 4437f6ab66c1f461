package dump

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// rewire replaces every UID of the dump within a value by the one that the object of it has
// now: in owner references, labels of a Job's pods, references of endpoints and volumes.
// UIDs that are not known stay.
func rewire(value any, uids map[types.UID]types.UID) {
	eachText(value, func(text string) string {
		if uid, known := uids[types.UID(text)]; known {
			return string(uid)
		}
		return text
	})
}

// dropOwners drops the references to owners that are not there: the garbage collector would
// delete the object after them. It reports whether there were any.
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
