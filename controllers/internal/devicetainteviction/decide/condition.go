package decide

import (
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Counts counts the pods and devices that a DeviceTaintRule affects.
type Counts struct {
	// Pods wait for their eviction because of the rule, in so many namespaces. If its effect is None,
	// they would if it was NoExecute.
	Pods, Namespaces int
	// Evicted is the number of pods evicted since the controller started.
	Evicted int
	// Published and Allocated are the selected devices of ResourceSlices and of allocations. They count
	// if the effect is None.
	Published, Allocated int
}

// Condition returns the condition EvictionInProgress of a rule (KEP-5055), without its transition time.
func Condition(rule *resourcev1.DeviceTaintRule, n Counts) metav1.Condition {
	c := metav1.Condition{Type: resourcev1.DeviceTaintConditionEvictionInProgress, Status: metav1.ConditionFalse, ObservedGeneration: rule.Generation}
	var text []string
	switch rule.Spec.Taint.Effect {
	case resourcev1.DeviceTaintEffectNoExecute:
		switch {
		case n.Pods > 0:
			c.Status, c.Reason = metav1.ConditionTrue, "PodsPendingEviction"
			text = append(text, fmt.Sprintf("%s to be evicted in %s.", count(n.Pods, "pod needs", "pods need"), namespaces(n.Namespaces)))
		case n.Evicted > 0:
			c.Reason = "Completed"
		default:
			c.Reason = "NotStarted"
		}
	case resourcev1.DeviceTaintEffectNone:
		c.Reason = "NoEffect"
		text = append(text,
			count(n.Published, "published device", "published devices")+" selected.",
			count(n.Allocated, "allocated device", "allocated devices")+" selected.",
			fmt.Sprintf("%s would be evicted in %s if the effect was NoExecute.", count(n.Pods, "pod", "pods"), namespaces(n.Namespaces)),
			"This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.")
	default:
		c.Reason = "OtherEffect"
		text = append(text, "Eviction only happens for the NoExecute effect.")
	}
	if n.Evicted > 0 {
		text = append(text, count(n.Evicted, "pod", "pods")+" evicted since starting the controller.")
	}
	c.Message = strings.Join(text, " ")
	return c
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func namespaces(n int) string { return count(n, "namespace", "different namespaces") }
