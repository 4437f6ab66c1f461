package kubeletsim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// observeImages updates the image profiles from a ConfigMap, and syncs all pods if they
// changed.
func (k *Kubelets) observeImages(obj any) {
	if c, ok := obj.(*corev1.ConfigMap); ok && k.images.Update(c) {
		k.wakeAll()
	}
}

func (k *Kubelets) loseImages(obj any) {
	if c, ok := obj.(*corev1.ConfigMap); ok && k.images.Forget(types.NamespacedName{Namespace: c.Namespace, Name: c.Name}) {
		k.wakeAll()
	}
}

func (k *Kubelets) wakeAll() {
	for _, uid := range k.pods.all() {
		k.pods.get(uid).stale.Store(true)
		k.loop.Add(podKey(string(uid)))
	}
}
