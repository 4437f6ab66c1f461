package minikcm

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// publishClientCA publishes the authorities of client certificates and of front proxies, and
// their headers, in the ConfigMap that servers which delegate authentication to this one
// read (https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/).
func (c *Cluster) publishClientCA(ctx context.Context) error {
	const asUpstream = "kube-apiserver" // the ConfigMap's manager on other clusters
	maps := c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	trust, err := c.server.ClientTrust(c.authority.CertPEM(), c.frontProxy.CertPEM(), frontProxyUser)
	if err != nil {
		return err
	}
	published := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "extension-apiserver-authentication"},
		Data:       trust,
	}
	_, err = maps.Create(ctx, published, metav1.CreateOptions{FieldManager: asUpstream})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(ctx, published, metav1.UpdateOptions{FieldManager: asUpstream})
	}
	if err != nil {
		return fmt.Errorf("publishing the authority of client certificates: %w", err)
	}
	return nil
}
