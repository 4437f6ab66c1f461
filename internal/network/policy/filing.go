package policy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// filing finds policies by labels that their selectors require, so that finding the policies of a pod does not depend on the number of
// those that select other pods. Each policy is in one bucket. The zero value is empty.
type filing[T comparable] struct {
	byLabel map[label][]T
	// others are the policies whose selectors require no label.
	others []T
}

type label struct{ key, value string }

// add files a policy under one of alternatives (requiredLabels), and returns which.
func (f *filing[T]) add(policy T, alternatives [][]label) (filed []label) {
	if len(alternatives) == 0 {
		f.others = append(f.others, policy)
		return nil
	}
	if f.byLabel == nil {
		f.byLabel = map[label][]T{}
	}
	// The pair that the fewest policies require leads to it: a label such as tier=backend, which all have, would not
	// tell them apart.
	filed = slices.MinFunc(alternatives, func(a, b []label) int { return f.size(a) - f.size(b) })
	for _, l := range filed {
		f.byLabel[l] = append(f.byLabel[l], policy)
	}
	return filed
}

// size returns the number of policies under the labels.
func (f *filing[T]) size(of []label) int {
	n := 0
	for _, l := range of {
		n += len(f.byLabel[l])
	}
	return n
}

// remove removes a policy that is filed under the labels.
func (f *filing[T]) remove(policy T, filed []label) {
	same := func(other T) bool { return other == policy }
	f.others = slices.DeleteFunc(f.others, same)
	for _, l := range filed {
		if f.byLabel[l] = slices.DeleteFunc(f.byLabel[l], same); len(f.byLabel[l]) == 0 {
			delete(f.byLabel, l)
		}
	}
}

// find returns the policies that may select a pod and that select does.
func (f *filing[T]) find(pod *corev1.Pod, selects func(T) bool) []T {
	var found []T
	// A policy is filed under values of one label, of which the pod has one at most: no policy is found twice.
	add := func(candidates []T) {
		for _, c := range candidates {
			if selects(c) {
				found = append(found, c)
			}
		}
	}
	add(f.others)
	for key, value := range pod.Labels {
		add(f.byLabel[label{key, value}])
	}
	return found
}
