package evolution

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// selector selects the sources.
const selector = "evolution=source"

// consumers is the number of copies of each source.
const consumers = 3

// reader returns a ConfigMap; nil if it does not exist.
type reader func(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)

// copier makes the copies of one consumer.
type copier struct {
	client   kubernetes.Interface
	consumer int
	read     reader
}

// fromAPI reads from the API server.
func fromAPI(client kubernetes.Interface) reader {
	return func(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
		found, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return found, err
	}
}

// reconcile makes the copy of a source hold the source's data. A conflict is no failure: the
// other write causes an event.
func (c *copier) reconcile(ctx context.Context, source *corev1.ConfigMap) error {
	name := fmt.Sprintf("%s-copy-%d", source.Name, c.consumer)
	existing, err := c.read(ctx, source.Namespace, name)
	if err != nil {
		return fmt.Errorf("reading the copy %s: %w", name, err)
	}
	api := c.client.CoreV1().ConfigMaps(source.Namespace)
	switch {
	case existing == nil:
		_, err = api.Create(ctx, copyOf(source, name), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
	case same(existing.Data, source.Data):
		return nil
	default:
		changed := existing.DeepCopy()
		changed.Data = source.Data
		_, err = api.Update(ctx, changed, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("writing the copy %s: %w", name, err)
	}
	return nil
}

func same(a, b map[string]string) bool { return maps.Equal(a, b) }

func copyOf(source *corev1.ConfigMap, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: source.Namespace, Labels: map[string]string{"evolution": "copy"}},
		Data:       source.Data,
	}
}
