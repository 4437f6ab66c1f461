package sharing

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/internal/members"
)

// Holder returns the Lease of the member that has a role, as the API has it now. While no member
// has the role, or its Lease does not exist any more, it returns a ServiceUnavailable error.
func Holder(ctx context.Context, client kubernetes.Interface, role string) (*coordinationv1.Lease, error) {
	leases := client.CoordinationV1().Leases(members.Namespace)
	held, err := leases.Get(ctx, members.RoleLease(role), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, noHolder(role)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the Lease of the role %s: %w", role, err)
	}
	if held.Spec.HolderIdentity == nil || *held.Spec.HolderIdentity == "" {
		return nil, noHolder(role)
	}
	holder, err := leases.Get(ctx, *held.Spec.HolderIdentity, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, noHolder(role)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the Lease of the process that has the role %s: %w", role, err)
	}
	return holder, nil
}

func noHolder(role string) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("no process on this etcd has the role of the Lease %s/%s at the moment; try again",
		members.Namespace, members.RoleLease(role)))
}
