package decide

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfigMapName is the name of the ConfigMap that pods mount, and dataKey its only key.
const (
	ConfigMapName = "kube-root-ca.crt"
	dataKey       = "ca.crt"
)

// The annotation that describes the ConfigMap, with upstream's text.
const (
	descriptionKey = "kubernetes.io/description"
	description    = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// Verb is the kind of write that the ConfigMap needs.
type Verb int

// The kinds of writes.
const (
	Nothing Verb = iota
	Create
	Update
)

// ConfigMap returns the ConfigMap that the namespace should have, and the write that it needs.
// current is nil if there is none, ns if the namespace is gone.
func ConfigMap(ns *corev1.Namespace, current *corev1.ConfigMap, ca string) (*corev1.ConfigMap, Verb) {
	if ns == nil || ns.Status.Phase != corev1.NamespaceActive || ns.DeletionTimestamp != nil {
		return nil, Nothing
	}
	data := map[string]string{dataKey: ca}
	if current == nil {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns.Name, Name: ConfigMapName,
				Annotations: map[string]string{descriptionKey: description},
			},
			Data: data,
		}, Create
	}
	if maps.Equal(current.Data, data) && current.Annotations[descriptionKey] != "" {
		return nil, Nothing
	}
	wanted := current.DeepCopy()
	wanted.Data = data
	if wanted.Annotations == nil {
		wanted.Annotations = map[string]string{}
	}
	wanted.Annotations[descriptionKey] = description
	return wanted, Update
}
