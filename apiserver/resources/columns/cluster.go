package columns

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// Lease is the Table of coordination.k8s.io/v1 Leases.
func Lease() Table {
	return table(func(l *coordinationv1.Lease, now time.Time) []any {
		return []any{l.Name, deref(l.Spec.HolderIdentity), age(l.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Holder", coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"]),
		ageColumn(),
	)
}

// PriorityClass is the Table of scheduling.k8s.io/v1 PriorityClasses.
func PriorityClass() Table {
	doc := schedulingv1.PriorityClass{}.SwaggerDoc()
	return table(func(p *schedulingv1.PriorityClass, now time.Time) []any {
		return []any{
			p.Name, int64(p.Value), p.GlobalDefault, age(p.CreationTimestamp, now),
			string(deref(p.PreemptionPolicy)),
		}
	},
		nameColumn(),
		integer("Value", doc["value"]),
		boolean("Global-Default", doc["globalDefault"]),
		ageColumn(),
		text("PreemptionPolicy", doc["preemptionPolicy"]),
	)
}
