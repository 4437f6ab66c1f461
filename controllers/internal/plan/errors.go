package plan

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ActionError is the failure of an action with one object.
type ActionError struct {
	Verb   Verb
	Object Object
	Err    error
}

func (e *ActionError) Error() string {
	_, kind, _ := strings.Cut(fmt.Sprintf("%T", e.Object), ".")
	name := e.Object.GetName()
	if name == "" {
		name = e.Object.GetGenerateName() + "*"
	}
	return fmt.Sprintf("%s %s %s/%s: %v", e.Verb, kind, e.Object.GetNamespace(), name, e.Err)
}

func (e *ActionError) Unwrap() error { return e.Err }

// Message returns the API's message of an error, without the context that the executor
// adds. Of joined errors it returns the first one's.
func Message(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}
