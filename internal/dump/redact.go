package dump

import (
	"encoding/base64"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// redacted replaces the values of Secrets.
const redacted = "REDACTED"

// RedactSecrets replaces the values of all Secrets with placeholders and removes annotations
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

// placeholder returns a value that the API server accepts for a key in a Secret of a type.
func placeholder(of corev1.SecretType, key string) string {
	switch {
	case of == corev1.SecretTypeDockerConfigJson && key == corev1.DockerConfigJsonKey:
		return `{"auths":{}}`
	case of == corev1.SecretTypeDockercfg && key == corev1.DockerConfigKey:
		return "{}"
	}
	return redacted
}
