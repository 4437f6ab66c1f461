package bootstrap

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// trackingSince is the key of the day in the ConfigMap of PublishTokenTracking.
const trackingSince = "since"

// PublishTokenTracking records in a ConfigMap since which day the API server labels secrets
// with the last use of their tokens (KEP-2799): the day of now. A day that is already recorded, by an earlier
// run or by the cluster that was dumped, stays.
func PublishTokenTracking(ctx context.Context, client kubernetes.Interface, now time.Time) error {
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	tracking := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-legacy-service-account-token-tracking"},
		Data:       map[string]string{trackingSince: now.UTC().Format(time.DateOnly)},
	}
	_, err := maps.Create(ctx, tracking, metav1.CreateOptions{FieldManager: asUpstream})
	if !apierrors.IsAlreadyExists(err) {
		return trackingError(err)
	}
	recorded, err := maps.Get(ctx, tracking.Name, metav1.GetOptions{})
	if err != nil {
		return trackingError(err)
	}
	if _, err := time.Parse(time.DateOnly, recorded.Data[trackingSince]); err == nil {
		return nil
	}
	if recorded.Data == nil {
		recorded.Data = map[string]string{}
	}
	recorded.Data[trackingSince] = tracking.Data[trackingSince]
	_, err = maps.Update(ctx, recorded, metav1.UpdateOptions{FieldManager: asUpstream})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // another process on the same etcd repairs it, too
	}
	return trackingError(err)
}

func trackingError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("recording since when the use of tokens is known: %w", err)
}
