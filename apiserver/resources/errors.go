package resources

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// uidMismatch is the reason of a Conflict with an object of the same name that is
// not the one the client means.
func uidMismatch(wanted, actual types.UID) error {
	return fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", wanted, actual)
}
