package dump

import (
	"encoding/base64"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// redacted takes the place of a Secret's value.
const redacted = "REDACTED"

// RedactSecrets replaces the values of all Secrets by placeholders, and drops annotations
// that repeat them. Keys stay, so that pods that use them start.
func (d *Dump) RedactSecrets() {
	for _, o := range d.objects {
		if isCore(o, "Secret") {
			redact(o)
		}
	}
}

func redact(secret *unstructured.Unstructured) {
	data, _ := secret.Object["data"].(map[string]any)
	for key := range data {
		data[key] = base64.StdEncoding.EncodeToString([]byte(placeholder(secretType(secret), key)))
	}
	plain, _ := secret.Object["stringData"].(map[string]any)
	for key := range plain {
		plain[key] = placeholder(secretType(secret), key)
	}
	// kubectl apply keeps the whole object in an annotation.
	unstructured.RemoveNestedField(secret.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	unstructured.RemoveNestedField(secret.Object, "metadata", "managedFields")
}

// placeholder is a value that the API server accepts for a key of a Secret of a type.
func placeholder(of corev1.SecretType, key string) string {
	switch {
	case of == corev1.SecretTypeDockerConfigJson && key == corev1.DockerConfigJsonKey:
		return `{"auths":{}}`
	case of == corev1.SecretTypeDockercfg && key == corev1.DockerConfigKey:
		return "{}"
	}
	return redacted
}
