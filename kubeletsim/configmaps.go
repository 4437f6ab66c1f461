package kubeletsim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// observeConfigMap reads what a ConfigMap declares, which may be image profiles, static pods or an
// instance of the simulated cloud.
func (k *Kubelets) observeConfigMap(obj any) {
	if c, ok := obj.(*corev1.ConfigMap); ok {
		k.observeImages(c)
		k.observeStatics(c)
		k.observeInstance(c, true)
	}
}

func (k *Kubelets) loseConfigMap(obj any) {
	if c, ok := obj.(*corev1.ConfigMap); ok {
		k.loseImages(c)
		k.loseStatics(c)
		k.observeInstance(c, false)
	}
}

// observeImages updates the image profiles from a ConfigMap, and syncs all pods if they
// changed.
func (k *Kubelets) observeImages(c *corev1.ConfigMap) {
	if k.images.Update(c) {
		k.wakeAll()
	}
}

func (k *Kubelets) loseImages(c *corev1.ConfigMap) {
	if k.images.Forget(types.NamespacedName{Namespace: c.Namespace, Name: c.Name}) {
		k.wakeAll()
	}
}

func (k *Kubelets) wakeAll() {
	for _, uid := range k.pods.all() {
		k.pods.get(uid).stale.Store(true)
		k.loop.Add(podKey(string(uid)))
	}
}
