package resources

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// preconditionError is the reason of a Conflict with an object that is not in the
// state that the client means; its text is the API's.
type preconditionError struct {
	field          string
	wanted, actual any
}

func (e preconditionError) Error() string {
	return fmt.Sprintf("Precondition failed: %s in precondition: %v, %s in object meta: %v", e.field, e.wanted, e.field, e.actual)
}

// uidMismatch is for an object of the same name that is not the same object.
func uidMismatch(wanted, actual types.UID) error {
	return preconditionError{field: "UID", wanted: wanted, actual: actual}
}
