package columns

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ComponentStatus is the Table of v1 ComponentStatuses.
func ComponentStatus() Table {
	return table(func(c *corev1.ComponentStatus, _ time.Time) []any {
		for i := range c.Conditions {
			condition := &c.Conditions[i]
			if condition.Type != corev1.ComponentHealthy {
				continue
			}
			status := "Unhealthy"
			if condition.Status == corev1.ConditionTrue {
				status = "Healthy"
			}
			return []any{c.Name, status, condition.Message, condition.Error}
		}
		return []any{c.Name, "Unknown", "", ""}
	},
		nameColumn(),
		text("Status", "Status of the component conditions"),
		text("Message", "Message of the component conditions"),
		text("Error", "Error of the component conditions"),
	)
}
