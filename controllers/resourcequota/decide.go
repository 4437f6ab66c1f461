package resourcequota

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"minikcm.dev/minikcm/controllers/plan"
)

// resync is how often a quota is counted although nothing seems to have changed, as
// upstream's --resource-quota-sync-period.
const resync = 5 * time.Minute

// Snapshot is what Decide looks at.
type Snapshot struct {
	Quota *corev1.ResourceQuota
	// Usage is what was counted. What is limited and not in it could not be counted:
	// what was known of it stays.
	Usage corev1.ResourceList
}

// Decide returns the quota's status, nil if it is right already.
func Decide(in Snapshot, _ time.Time) plan.Plan[corev1.ResourceQuotaStatus] {
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
