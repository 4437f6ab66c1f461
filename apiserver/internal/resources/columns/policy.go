package columns

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodDisruptionBudget is the Table of policy/v1 PodDisruptionBudgets.
func PodDisruptionBudget() Table {
	spec, status := policyv1.PodDisruptionBudgetSpec{}.SwaggerDoc(), policyv1.PodDisruptionBudgetStatus{}.SwaggerDoc()
	limit := func(value *intstr.IntOrString) string {
		if value == nil {
			return "N/A"
		}
		return value.String()
	}
	return table(func(b *policyv1.PodDisruptionBudget, now time.Time) []any {
		return []any{
			b.Name, limit(b.Spec.MinAvailable), limit(b.Spec.MaxUnavailable),
			int64(b.Status.DisruptionsAllowed), age(b.CreationTimestamp, now),
		}
	},
		nameColumn(),
		text("Min Available", spec["minAvailable"]),
		text("Max Unavailable", spec["maxUnavailable"]),
		integer("Allowed Disruptions", status["disruptionsAllowed"]),
		ageColumn(),
	)
}

// ResourceQuota is the Table of core/v1 ResourceQuotas.
func ResourceQuota() Table {
	return table(func(q *corev1.ResourceQuota, now time.Time) []any {
		var requests, limits []string
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			used, hard := q.Status.Used[name], q.Status.Hard[name]
			use := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
			if strings.HasPrefix(string(name), "limits") {
				limits = append(limits, use)
			} else {
				requests = append(requests, use)
			}
		}
		return []any{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), age(q.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Request", "What is used of each resource that pods request, and of the numbers of objects."),
		text("Limit", "What is used of each resource that pods are limited in."),
		ageColumn(),
	)
}
