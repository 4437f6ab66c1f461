package job

import (
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// interval is a range of completion indexes, both ends included.
type interval struct{ first, last int }

// intervals is a set of completion indexes as sorted, disjoint and non-adjacent ranges. Its
// size depends on the number of gaps, not on that of the indexes.
type intervals []interval

// parseIndexes parses the format of String, up to the first index that is not below
// completions or cannot be parsed.
func parseIndexes(text string, completions int) intervals {
	var set intervals
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
func (s intervals) appended(next interval) intervals {
	if n := len(s); n > 0 && next.first <= s[n-1].last+1 {
		s[n-1].last = max(s[n-1].last, next.last)
		return s
	}
	return append(s, next)
}

// with returns the union with indexes, which it sorts.
func (s intervals) with(indexes []int) intervals {
	slices.Sort(indexes)
	union := make(intervals, 0, len(s)+len(indexes))
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

// union returns the union of both sets.
func (s intervals) union(other intervals) intervals {
	all := slices.Concat(s, other)
	slices.SortFunc(all, func(a, b interval) int { return a.first - b.first })
	var union intervals
	for _, next := range all {
		union = union.appended(next)
	}
	return union
}

func (s intervals) total() int {
	n := 0
	for _, v := range s {
		n += v.last - v.first + 1
	}
	return n
}

func (s intervals) has(index int) bool {
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

// common returns the size of the intersection.
func (s intervals) common(other intervals) int {
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

// missing returns the first n indexes below limit that are not in the set.
func (s intervals) missing(n, limit int) []int {
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
func (s intervals) String() string {
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

// noIndex is the result of indexOf for a pod without an index.
const noIndex = -1

func isIndexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// indexOf returns the pod's completion index, or noIndex.
func indexOf(pod *corev1.Pod) int {
	i, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || i < 0 {
		return noIndex
	}
	return i
}

// counts reports whether the end of the pod counts for the Job. In an Indexed Job, the
// pod's index must be valid.
func counts(job *batchv1.Job, pod *corev1.Pod) bool {
	if !isIndexed(job) {
		return true
	}
	i := indexOf(pod)
	return i != noIndex && i < completions(job)
}

func completions(job *batchv1.Job) int {
	if job.Spec.Completions == nil {
		return 0
	}
	return int(*job.Spec.Completions)
}

func indexesOf(pods []*corev1.Pod) []int {
	indexes := make([]int, 0, len(pods))
	for _, pod := range pods {
		if i := indexOf(pod); i != noIndex {
			indexes = append(indexes, i)
		}
	}
	return indexes
}
