package podautoscaler

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// History is what was decided before about one autoscaler. Its slices are never
// changed, so that it may be copied.
type History struct {
	// Recommendations are the sizes that the metrics asked for, before any limit.
	Recommendations []Sized
	// Ups and Downs are by how much the target was scaled. They are kept only for
	// autoscalers that have a behavior.
	Ups, Downs []Sized
}

// Sized is a number of replicas at a time.
type Sized struct {
	Replicas int32
	At       time.Time
}

// recommended adds what the metrics ask for now, and forgets what is older than window.
func (h History) recommended(replicas int32, now time.Time, window time.Duration) History {
	h.Recommendations = append(since(h.Recommendations, now.Add(-window)), Sized{replicas, now})
	return h
}

// scaled adds a change of the target, and forgets those that no policy looks at.
func (h History) scaled(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior, from, to int32, now time.Time) History {
	if behavior == nil {
		return h
	}
	cutoff := now.Add(-max(longestPeriod(behavior.ScaleUp), longestPeriod(behavior.ScaleDown)))
	h.Ups, h.Downs = since(h.Ups, cutoff), since(h.Downs, cutoff)
	if to > from {
		h.Ups = append(h.Ups, Sized{to - from, now})
	} else {
		h.Downs = append(h.Downs, Sized{from - to, now})
	}
	return h
}

// since is a copy of those that are not older than cutoff.
func since(all []Sized, cutoff time.Time) []Sized {
	return slices.DeleteFunc(slices.Clone(all), func(s Sized) bool { return s.At.Before(cutoff) })
}

func longestPeriod(rules *autoscalingv2.HPAScalingRules) time.Duration {
	var longest int32
	if rules != nil {
		for _, policy := range rules.Policies {
			longest = max(longest, policy.PeriodSeconds)
		}
	}
	return time.Duration(longest) * time.Second
}

// changed is by how many replicas the target was scaled within a period.
func changed(all []Sized, now time.Time, period time.Duration) int32 {
	var n int32
	for _, s := range all {
		if s.At.After(now.Add(-period)) {
			n += s.Replicas
		}
	}
	return n
}
