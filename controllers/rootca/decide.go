package rootca

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfigMapName is the ConfigMap that pods mount, and dataKey its only key.
const (
	ConfigMapName = "kube-root-ca.crt"
	dataKey       = "ca.crt"
)

// The annotation that says what the ConfigMap is for; clients see upstream's text.
const (
	descriptionKey = "kubernetes.io/description"
	description    = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// Verb says how the ConfigMap is to be written.
type Verb int

// What can be necessary.
const (
	Nothing Verb = iota
	Create
	Update
)

// Decide returns the ConfigMap that the namespace ought to have and how to get
// there. current is nil when there is none, namespace when that is gone.
func Decide(ns *corev1.Namespace, current *corev1.ConfigMap, ca string) (*corev1.ConfigMap, Verb) {
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
