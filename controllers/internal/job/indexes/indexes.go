package indexes

import (
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// interval is a range of completion indexes, both ends included.
type interval struct{ first, last int }

// Set is a set of completion indexes as sorted, disjoint and non-adjacent ranges. Its
// size depends on the number of gaps, not on the number of indexes.
type Set []interval

// Parse parses the format of String, up to the first index that is not below
// completions or cannot be parsed.
func Parse(text string, completions int) Set {
	var set Set
	if text == "" {
		return set
	}
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		if err != nil || first >= completions || len(set) > 0 && first <= set[len(set)-1].last {
			return set
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(high); err != nil || last < first {
				return set
			}
		}
		set = set.appended(interval{first, min(last, completions-1)})
	}
	return set
}

// appended appends an interval that does not begin before the last one.
func (s Set) appended(next interval) Set {
	if n := len(s); n > 0 && next.first <= s[n-1].last+1 {
		s[n-1].last = max(s[n-1].last, next.last)
		return s
	}
	return append(s, next)
}

// With returns the union with indexes, which it sorts.
func (s Set) With(indexes []int) Set {
	slices.Sort(indexes)
	union := make(Set, 0, len(s)+len(indexes))
	rest := s
	for _, i := range indexes {
		for len(rest) > 0 && rest[0].first <= i {
			union, rest = union.appended(rest[0]), rest[1:]
		}
		union = union.appended(interval{i, i})
	}
	for _, next := range rest {
		union = union.appended(next)
	}
	return union
}

// Union returns the union of both sets.
func (s Set) Union(other Set) Set {
	all := slices.Concat(s, other)
	slices.SortFunc(all, func(a, b interval) int { return a.first - b.first })
	var union Set
	for _, next := range all {
		union = union.appended(next)
	}
	return union
}

// Total returns the number of indexes in the set.
func (s Set) Total() int {
	n := 0
	for _, v := range s {
		n += v.last - v.first + 1
	}
	return n
}

// Has reports whether the index is in the set.
func (s Set) Has(index int) bool {
	_, found := slices.BinarySearchFunc(s, index, func(v interval, i int) int {
		switch {
		case v.last < i:
			return -1
		case v.first > i:
			return 1
		default:
			return 0
		}
	})
	return found
}

// Common returns the size of the intersection.
func (s Set) Common(other Set) int {
	n := 0
	for i, j := 0, 0; i < len(s) && j < len(other); {
		n += max(0, min(s[i].last, other[j].last)-max(s[i].first, other[j].first)+1)
		if s[i].last < other[j].last {
			i++
		} else {
			j++
		}
	}
	return n
}

// Missing returns the first n indexes below limit that are not in the set.
func (s Set) Missing(n, limit int) []int {
	found := make([]int, 0, n)
	next := 0
	for _, v := range append(slices.Clip(s), interval{limit, limit}) {
		for ; next < min(v.first, limit) && len(found) < n; next++ {
			found = append(found, next)
		}
		next = v.last + 1
	}
	return found
}

// String returns the format of the status: "1,3-5,7", with a hyphen for three and more.
func (s Set) String() string {
	var b strings.Builder
	for i, v := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(v.first))
		if v.last == v.first {
			continue
		}
		if v.last == v.first+1 {
			b.WriteByte(',')
		} else {
			b.WriteByte('-')
		}
		b.WriteString(strconv.Itoa(v.last))
	}
	return b.String()
}

// None is the result of Of for a pod without an index.
const None = -1

// Indexed reports whether the Job has the completion mode Indexed.
func Indexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// Of returns the pod's completion index, or None.
func Of(pod *corev1.Pod) int {
	i, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || i < 0 {
		return None
	}
	return i
}

// Counts reports whether the end of the pod counts for the Job. In an Indexed Job, the
// pod's index must be valid.
func Counts(job *batchv1.Job, pod *corev1.Pod) bool {
	if !Indexed(job) {
		return true
	}
	i := Of(pod)
	return i != None && i < Completions(job)
}

// Completions returns the number of completions that the Job asks for; 0 if it asks for none.
func Completions(job *batchv1.Job) int {
	if job.Spec.Completions == nil {
		return 0
	}
	return int(*job.Spec.Completions)
}

// All returns the completion indexes of the pods that have one.
func All(pods []*corev1.Pod) []int {
	indexes := make([]int, 0, len(pods))
	for _, pod := range pods {
		if i := Of(pod); i != None {
			indexes = append(indexes, i)
		}
	}
	return indexes
}
