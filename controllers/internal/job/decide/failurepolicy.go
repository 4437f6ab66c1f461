package decide

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// judgement is the decision of the Job's podFailurePolicy about a failed pod
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy).
type judgement struct {
	action batchv1.PodFailurePolicyAction
	// message is the reason, if the action is FailJob.
	message string
}

// counted reports whether the failure counts towards the back-off limit.
func (j judgement) counted() bool { return j.action != batchv1.PodFailurePolicyActionIgnore }

// judge returns the decision of the first rule that matches the pod; without one it is
// Count.
func judge(job *batchv1.Job, pod *corev1.Pod) judgement {
	if policy := job.Spec.PodFailurePolicy; policy != nil {
		for i := range policy.Rules {
			rule := &policy.Rules[i]
			why := matchRule(rule, pod)
			if why == "" {
				continue
			}
			j := judgement{action: rule.Action}
			if rule.Action == batchv1.PodFailurePolicyActionFailJob {
				j.message = fmt.Sprintf("%s matching %s rule at index %d", why, rule.Action, i)
			}
			return j
		}
	}
	return judgement{action: batchv1.PodFailurePolicyActionCount}
}

// matchRule describes how the pod matches the rule; "" if it does not.
func matchRule(rule *batchv1.PodFailurePolicyRule, pod *corev1.Pod) string {
	if rule.OnExitCodes != nil {
		if c := matchExitCodes(rule.OnExitCodes, &pod.Status); c != nil {
			return fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d", c.Name, pod.Namespace, pod.Name, c.State.Terminated.ExitCode)
		}
		return ""
	}
	// As upstream, report the pod's first condition that any pattern matches.
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		fits := func(p batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
			return p.Type == c.Type && p.Status == c.Status
		}
		if slices.ContainsFunc(rule.OnPodConditions, fits) {
			return fmt.Sprintf("Pod %s/%s has condition %s", pod.Namespace, pod.Name, c.Type)
		}
	}
	return ""
}

func matchExitCodes(rule *batchv1.PodFailurePolicyOnExitCodesRequirement, status *corev1.PodStatus) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range list {
			c := &list[i]
			if c.State.Terminated == nil || c.State.Terminated.ExitCode == 0 || rule.ContainerName != nil && *rule.ContainerName != c.Name {
				continue
			}
			if slices.Contains(rule.Values, c.State.Terminated.ExitCode) == (rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
				return c
			}
		}
	}
	return nil
}
