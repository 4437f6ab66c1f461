package drain

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ErrGone is returned if the pod was deleted meanwhile.
var ErrGone = errors.New("the pod was gone already")

// Evict evicts a pod. If it is to be tried again, because a budget refuses or the pod's namespace is
// being deleted, refused is the API's reason, which names the budget. The error is ErrGone if the pod
// is gone, or if another one has its name.
func Evict(ctx context.Context, client kubernetes.Interface, pod metav1.Object, grace *int64) (refused string, err error) {
	err = client.CoreV1().Pods(pod.GetNamespace()).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.GetName(), Namespace: pod.GetNamespace()},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: metav1.NewUIDPreconditions(string(pod.GetUID()))},
	})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return "", ErrGone
	case apierrors.IsTooManyRequests(err):
		return refusal(err), nil
	case apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		if pod.GetDeletionTimestamp() != nil {
			return "", nil
		}
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("evicting pod %s: %w", pod.GetName(), err)
	}
	return "", nil
}

// refusal returns the cause that names the budget, if the error has one.
func refusal(err error) string {
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok && cause.Message != "" {
		return cause.Message
	}
	return err.Error()
}
