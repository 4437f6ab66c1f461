package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// resync is the interval at which a quota is counted without an event, the default of
// upstream's --resource-quota-sync-period.
const resync = 5 * time.Minute

// Snapshot is the input of a decision.
type Snapshot struct {
	Quota *corev1.ResourceQuota
	// Usage is the counted usage. A limited resource without an entry could not be counted:
	// its usage in the status stays.
	Usage corev1.ResourceList
}

// Quota returns the quota's new status, or nil if it does not change.
func Quota(in Snapshot, _ time.Time) plan.Plan[corev1.ResourceQuotaStatus] {
	spec, status := &in.Quota.Spec, &in.Quota.Status
	used := quotav1.Add(corev1.ResourceList{}, status.Used)
	for name, quantity := range in.Usage {
		used[name] = quantity
	}
	next := corev1.ResourceQuotaStatus{
		Hard: quotav1.Add(corev1.ResourceList{}, spec.Hard),
		Used: quotav1.Mask(used, quotav1.ResourceNames(spec.Hard)),
	}
	p := plan.Plan[corev1.ResourceQuotaStatus]{RequeueAfter: resync}
	if status.Hard == nil || status.Used == nil || !equality.Semantic.DeepEqual(spec.Hard, status.Hard) || !quotav1.Equals(next.Used, status.Used) {
		p.Status = &next
	}
	return p
}
