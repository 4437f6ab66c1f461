package decide

import (
	"math"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"
)

// An autoscaler without behavior at most doubles its target's size, or grows it to
// scaleUpMinimum if that is more.
const (
	scaleUpFactor  = 2
	scaleUpMinimum = 4
)

// limited is a size after a limit was applied, with the reason and message of the
// condition.
type limited struct {
	replicas        int32
	reason, message string
}

func withinRange(replicas int32) limited {
	return limited{replicas, "DesiredWithinRange", "the desired count is within the acceptable range"}
}

func tooFew(replicas int32) limited {
	return limited{replicas, "TooFewReplicas", "the desired replica count is less than the minimum replica count"}
}

func tooMany(replicas int32) limited {
	return limited{replicas, "TooManyReplicas", "the desired replica count is more than the maximum replica count"}
}

func tooFast(replicas int32) limited {
	return limited{replicas, "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate"}
}

func tooFastDown(replicas int32) limited {
	return limited{replicas, "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate"}
}

// bounds are the minimum and maximum of an autoscaler.
type bounds struct{ min, max int32 }

// limit applies the limits of an autoscaler without behavior.
func (b bounds) limit(current, desired int32) limited {
	most, above := b.max, tooMany
	if fastest := max(scaleUpFactor*int64(current), scaleUpMinimum); int64(most) > fastest {
		most, above = int32(fastest), tooFast // fastest is below b.max, an int32
	}
	switch {
	case desired < b.min:
		return tooFew(b.min)
	case desired > most:
		return above(most)
	}
	return withinRange(desired)
}

// limitBy applies the policies of an autoscaler's behavior, which depend on earlier changes
// of the size.
func (b bounds) limitBy(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior, h History, current, desired int32, now time.Time) limited {
	switch {
	case desired > current:
		most, above := b.max, tooMany
		if fastest := max(fastestUp(behavior.ScaleUp, h, current, now), current); most > fastest {
			most, above = fastest, tooFast
		}
		if desired > most {
			return above(most)
		}
	case desired < current:
		least, below := b.min, tooFew
		if fastest := min(fastestDown(behavior.ScaleDown, h, current, now), current); least < fastest {
			least, below = fastest, tooFastDown
		}
		if desired < least {
			return below(least)
		}
	}
	return withinRange(desired)
}

// fastestUp returns the largest size that the policies allow now.
func fastestUp(rules *autoscalingv2.HPAScalingRules, h History, current int32, now time.Time) int32 {
	return byPolicies(rules, h, current, now, func(start int32, p autoscalingv2.HPAScalingPolicy) int32 {
		if p.Type == autoscalingv2.PercentScalingPolicy {
			// Round up, or a small target would never grow.
			return ceil(float64(start) * (1 + float64(p.Value)/100))
		}
		return ceil(float64(start) + float64(p.Value))
	}, math.MaxInt32, math.MinInt32)
}

// fastestDown returns the smallest size that the policies allow now.
func fastestDown(rules *autoscalingv2.HPAScalingRules, h History, current int32, now time.Time) int32 {
	return byPolicies(rules, h, current, now, func(start int32, p autoscalingv2.HPAScalingPolicy) int32 {
		if p.Type == autoscalingv2.PercentScalingPolicy {
			return int32(float64(start) * (1 - float64(p.Value)/100))
		}
		return start - p.Value
	}, math.MinInt32, math.MaxInt32)
}

// byPolicies returns the size that the selected policy allows, from the size at the
// beginning of the policy's period. far is the limit in the direction of the change, and
// near the opposite one.
func byPolicies(rules *autoscalingv2.HPAScalingRules, h History, current int32, now time.Time,
	allows func(start int32, p autoscalingv2.HPAScalingPolicy) int32, far, near int32,
) int32 {
	choice := ptr.Deref(rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if choice == autoscalingv2.DisabledPolicySelect {
		return current
	}
	up := far > near
	least := choice == autoscalingv2.MinChangePolicySelect
	limit := near
	if least {
		limit = far
	}
	for _, p := range rules.Policies {
		period := time.Duration(p.PeriodSeconds) * time.Second
		start := current - changed(h.Ups, now, period) + changed(h.Downs, now, period)
		if allowed := allows(start, p); up != least {
			limit = max(limit, allowed)
		} else {
			limit = min(limit, allowed)
		}
	}
	return limit
}
