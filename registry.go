package minikcm

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim"
)

// registryName is the name of the ConfigMap with Options.Registry.
const registryName = "minikcm-registry"

// createRegistry writes the list of the images that exist to the API, where it may be changed.
func (c *Cluster) createRegistry(ctx context.Context) error {
	if c.opts.Nodes.Registry == "" {
		return nil
	}
	list := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: registryName, Labels: map[string]string{kubeletsim.LabelRegistry: ""}},
		Data:       map[string]string{kubeletsim.RegistryKey: c.opts.Nodes.Registry},
	}
	configMaps := c.client.CoreV1().ConfigMaps(list.Namespace)
	_, err := configMaps.Create(ctx, list, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // of an earlier process on the same data
		_, err = configMaps.Update(ctx, list, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing the list of images that exist: %w", err)
	}
	return nil
}
