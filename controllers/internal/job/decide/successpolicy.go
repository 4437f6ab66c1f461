package decide

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"minikcm.dev/minikcm/controllers/internal/job/indexes"
)

// matchSuccess describes how the Job's successPolicy is met; "" if it is not
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#success-policy).
func matchSuccess(job *batchv1.Job, succeeded indexes.Set) string {
	policy := job.Spec.SuccessPolicy
	if policy == nil || !indexes.Indexed(job) {
		return ""
	}
	for i := range policy.Rules {
		if meets(&policy.Rules[i], succeeded, indexes.Completions(job)) {
			return fmt.Sprintf("Matched rules at index %d", i)
		}
	}
	return ""
}

func meets(rule *batchv1.SuccessPolicyRule, succeeded indexes.Set, completions int) bool {
	having, wanted := succeeded.Total(), 0
	if rule.SucceededIndexes != nil {
		named := indexes.Parse(*rule.SucceededIndexes, completions)
		having, wanted = succeeded.Common(named), named.Total()
	}
	if rule.SucceededCount != nil {
		wanted = int(*rule.SucceededCount)
	}
	return wanted > 0 && having >= wanted
}
