package columns

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// PodGroup is the Table of scheduling.k8s.io/v1beta1 PodGroups.
func PodGroup() Table {
	return table(func(g *schedulingv1beta1.PodGroup, now time.Time) []any {
		policy, workload, status := "Basic", "<none>", "Pending"
		if g.Spec.SchedulingPolicy.Gang != nil {
			policy = "Gang"
		}
		if g.Spec.WorkloadRef != nil {
			workload = g.Spec.WorkloadRef.WorkloadName
		}
		if c := meta.FindStatusCondition(g.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled); c != nil {
			status = "Unschedulable"
			if c.Status == metav1.ConditionTrue {
				status = "Scheduled"
			}
		}
		if c := meta.FindStatusCondition(g.Status.Conditions, schedulingv1beta1.DisruptionTarget); c != nil {
			status = c.Reason
		}
		return []any{g.Name, policy, workload, status, age(g.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Policy", schedulingv1beta1.PodGroupSpec{}.SwaggerDoc()["schedulingPolicy"]),
		text("Workload", "Name of the referenced Workload object"),
		text("Status", "Status of the PodGroup"),
		ageColumn(),
	)
}

// SchedulingWorkload is the Table of scheduling.k8s.io/v1beta1 Workloads.
func SchedulingWorkload() Table {
	return table(func(w *schedulingv1beta1.Workload, now time.Time) []any {
		return []any{w.Name, age(w.CreationTimestamp, now)}
	},
		nameColumn(),
		ageColumn(),
	)
}
