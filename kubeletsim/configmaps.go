package kubeletsim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/internal/images"
)

// observeConfigMap reads the image profiles, static pods or instance of the simulated cloud that a
// ConfigMap declares.
func (k *Kubelets) observeConfigMap(obj any) {
	if c, ok := obj.(*corev1.ConfigMap); ok {
		k.observeImages(c)
		if k.registry.Update(c) {
			k.wakeAll()
		}
		k.statics.observe(c)
		k.observeInstance(c, true)
	}
}

func (k *Kubelets) loseConfigMap(obj any) {
	if c, ok := obj.(*corev1.ConfigMap); ok {
		k.loseImages(c)
		if k.registry.Forget(types.NamespacedName{Namespace: c.Namespace, Name: c.Name}) {
			k.wakeAll()
		}
		k.statics.lose(c)
		k.observeInstance(c, false)
	}
}

// observeImages updates the image profiles from a ConfigMap, and syncs all pods if they
// changed.
func (k *podWorker) observeImages(c *corev1.ConfigMap) {
	changed := k.images.Update(c)
	if _, marked := c.Labels[images.LabelImage]; marked && k.opts.Recorder != nil {
		for _, bad := range images.Invalid(c) {
			k.opts.Recorder.WithSource(corev1.EventSource{Component: Component}).Event(c, corev1.EventTypeWarning, "InvalidSimulation", "image profile: "+bad.String())
		}
	}
	if changed {
		k.wakeAll()
	}
}

func (k *podWorker) loseImages(c *corev1.ConfigMap) {
	if k.images.Forget(types.NamespacedName{Namespace: c.Namespace, Name: c.Name}) {
		k.wakeAll()
	}
}

// pullError returns why an image cannot be pulled; empty if it can.
func (k *podWorker) pullError(image string) string {
	if why := k.pulls.Get(image); why != "" || k.images.Describes(image) {
		return why
	}
	return k.registry.Missing(image)
}

func (k *podWorker) wakeAll() {
	for _, uid := range k.pods.all() {
		k.pods.get(uid).stale.Store(true)
		k.loop.Add(podKey(string(uid)))
	}
}
