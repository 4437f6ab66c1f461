package resources

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// preconditionError is the reason of a Conflict with an object that is not in the state
// that the client requires; its text is the API's.
type preconditionError struct {
	field          string
	wanted, actual any
}

func (e preconditionError) Error() string {
	return fmt.Sprintf("Precondition failed: %s in precondition: %v, %s in object meta: %v", e.field, e.wanted, e.field, e.actual)
}

// uidMismatch returns the error for an object of the same name that is not the same
// object.
func uidMismatch(wanted, actual types.UID) error {
	return preconditionError{field: "UID", wanted: wanted, actual: actual}
}

// unclassified returns upstream's error for invalid fields without a kind: 500 without
// a reason, although it is the client's fault.
func unclassified(errs field.ErrorList) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: errs.ToAggregate().Error(),
	}}
}
