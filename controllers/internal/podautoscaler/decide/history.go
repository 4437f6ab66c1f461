package decide

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// History holds the earlier decisions about one autoscaler. Its slices are never changed in
// place, so it may be copied.
type History struct {
	// Recommendations are the sizes that the metrics required, before any limit.
	Recommendations []Sized
	// Ups and Downs are the changes of the target's size. They are kept only for
	// autoscalers with a behavior.
	Ups, Downs []Sized
}

// Sized is a number of replicas at a time.
type Sized struct {
	Replicas int32
	At       time.Time
}

// recommended adds a recommendation, and drops those older than window.
func (h History) recommended(replicas int32, now time.Time, window time.Duration) History {
	h.Recommendations = append(since(h.Recommendations, now.Add(-window)), Sized{replicas, now})
	return h
}

// scaled adds a change of the target's size, and drops those older than the policies'
// periods.
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

// since returns a copy without the entries before cutoff.
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

// changed returns the number of replicas by which the target was scaled within a period.
func changed(all []Sized, now time.Time, period time.Duration) int32 {
	var n int32
	for _, s := range all {
		if s.At.After(now.Add(-period)) {
			n += s.Replicas
		}
	}
	return n
}
