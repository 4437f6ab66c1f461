package auth

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CauseUnrelated is a cause in the Status of a request of a node that is refused because no pod
// on the node is, or refers to, the object. The pod may have been deleted while the request was
// under way.
const CauseUnrelated metav1.CauseType = "UnrelatedToNode"

// Unrelated adds CauseUnrelated to the Status of an error. Other errors are returned as they are.
func Unrelated(err error) error {
	var status *apierrors.StatusError
	if errors.As(err, &status) && status.ErrStatus.Details != nil {
		details := status.ErrStatus.Details
		details.Causes = append(details.Causes, metav1.StatusCause{Type: CauseUnrelated})
	}
	return err
}

// IsUnrelated reports whether CauseUnrelated is among the causes of an error.
func IsUnrelated(err error) bool { return apierrors.HasStatusCause(err, CauseUnrelated) }
