package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// asUpstream is the manager of the API server's ConfigMaps on other clusters.
const asUpstream = "kube-apiserver"

// PublishClientCA publishes trust, the authorities of client certificates and of front proxies, and
// their headers, in the ConfigMap that servers which delegate authentication to this one
// read (https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/).
func PublishClientCA(ctx context.Context, client kubernetes.Interface, trust map[string]string) error {
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	published := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "extension-apiserver-authentication"},
		Data:       trust,
	}
	_, err := maps.Create(ctx, published, metav1.CreateOptions{FieldManager: asUpstream})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(ctx, published, metav1.UpdateOptions{FieldManager: asUpstream})
	}
	if err != nil {
		return fmt.Errorf("publishing the authority of client certificates: %w", err)
	}
	return nil
}
