package hunt

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// podsDelay is how long after a write pods are deleted: the write may have been the first cause of them.
const podsDelay = 20 * time.Second

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

// runsPods reports whether the objects of a resource keep a number of pods: others come when some go.
func runsPods(r schema.GroupVersionResource) bool {
	return r.Group == "apps" && slices.Contains([]string{"deployments", "statefulsets", "daemonsets", "replicasets"}, r.Resource)
}

// deletePodsLater deletes the pods of an object, as a drain of their nodes does.
func (c *course) deletePodsLater(s *subject, d *Disturbance) {
	c.partLater(podsDelay, d, func(ctx context.Context) error {
		deleted, err := c.deletePods(ctx, s, d)
		if err == nil && deleted == 0 {
			err = errNoPods
		}
		return err
	})
}

var errNoPods = errors.New("it has no pods")

// deletePods returns how many pods it has deleted.
func (c *course) deletePods(ctx context.Context, s *subject, d *Disturbance) (deleted int, err error) {
	namespace, name := splitRef(d.Object)
	objects, err := c.on(s, namespace)
	if err != nil {
		return 0, err
	}
	owner, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	client, err := kubernetes.NewForConfig(c.cluster.Config())
	if err != nil {
		return 0, err
	}
	owners := map[types.UID]bool{owner.GetUID(): true}
	sets, err := client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range sets.Items {
		if ref := metav1.GetControllerOf(&sets.Items[i]); ref != nil && ref.UID == owner.GetUID() {
			owners[sets.Items[i].UID] = true
		}
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range pods.Items {
		ref := metav1.GetControllerOf(&pods.Items[i])
		if ref == nil || !owners[ref.UID] {
			continue
		}
		if err := client.CoreV1().Pods(namespace).Delete(ctx, pods.Items[i].Name, metav1.DeleteOptions{}); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}
