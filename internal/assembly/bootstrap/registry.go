package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/kubeletsim"
)

// registryName is the name of the ConfigMap of CreateRegistry.
const registryName = "minikcm-registry"

// CreateRegistry writes the list of the images that exist to the API, where it may be changed; an
// empty list means that all exist.
func CreateRegistry(ctx context.Context, client kubernetes.Interface, images string) error {
	if images == "" {
		return nil
	}
	list := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: registryName, Labels: map[string]string{kubeletsim.LabelRegistry: ""}},
		Data:       map[string]string{kubeletsim.RegistryKey: images},
	}
	configMaps := client.CoreV1().ConfigMaps(list.Namespace)
	_, err := configMaps.Create(ctx, list, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // of an earlier process on the same data
		_, err = configMaps.Update(ctx, list, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing the list of images that exist: %w", err)
	}
	return nil
}
