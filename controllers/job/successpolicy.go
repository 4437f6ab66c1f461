package job

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
)

// matchSuccess describes how the Job's successPolicy is met; "" if it is not
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#success-policy).
func matchSuccess(job *batchv1.Job, succeeded intervals) string {
	policy := job.Spec.SuccessPolicy
	if policy == nil || !isIndexed(job) {
		return ""
	}
	for i := range policy.Rules {
		if meets(&policy.Rules[i], succeeded, completions(job)) {
			return fmt.Sprintf("Matched rules at index %d", i)
		}
	}
	return ""
}

func meets(rule *batchv1.SuccessPolicyRule, succeeded intervals, completions int) bool {
	having, wanted := succeeded.total(), 0
	if rule.SucceededIndexes != nil {
		named := parseIndexes(*rule.SucceededIndexes, completions)
		having, wanted = succeeded.common(named), named.total()
	}
	if rule.SucceededCount != nil {
		wanted = int(*rule.SucceededCount)
	}
	return wanted > 0 && having >= wanted
}
