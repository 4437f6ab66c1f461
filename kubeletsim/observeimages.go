package kubeletsim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// observeImages reads what a ConfigMap tells. All pods have another look then.
func (k *Kubelet) observeImages(obj any) {
	if c, ok := obj.(*corev1.ConfigMap); ok && k.images.read(c) {
		k.wakeAll()
	}
}

func (k *Kubelet) loseImages(obj any) {
	if c, ok := obj.(*corev1.ConfigMap); ok && k.images.forget(types.NamespacedName{Namespace: c.Namespace, Name: c.Name}) {
		k.wakeAll()
	}
}

func (k *Kubelet) wakeAll() {
	for _, uid := range k.pods.all() {
		k.pods.get(uid).stale.Store(true)
		k.loop.Add(podKey(string(uid)))
	}
}
