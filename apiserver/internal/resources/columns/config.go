package columns

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Namespace is the Table of core/v1 Namespaces.
func Namespace() Table {
	return table(func(n *corev1.Namespace, now time.Time) []any {
		return []any{n.Name, string(n.Status.Phase), age(n.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Status", "Whether the namespace is in use or is being deleted."),
		ageColumn(),
	)
}

// ConfigMap is the Table of core/v1 ConfigMaps.
func ConfigMap() Table {
	return table(func(c *corev1.ConfigMap, now time.Time) []any {
		return []any{c.Name, int64(len(c.Data) + len(c.BinaryData)), age(c.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Data", corev1.ConfigMap{}.SwaggerDoc()["data"]),
		ageColumn(),
	)
}

// Secret is the Table of core/v1 Secrets.
func Secret() Table {
	doc := corev1.Secret{}.SwaggerDoc()
	return table(func(s *corev1.Secret, now time.Time) []any {
		return []any{s.Name, string(s.Type), int64(len(s.Data)), age(s.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Type", doc["type"]),
		text("Data", doc["data"]),
		ageColumn(),
	)
}

// ServiceAccount is the Table of core/v1 ServiceAccounts. It has no number of secrets
// since 1.35.
func ServiceAccount() Table { return Default() }
