package traffic

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/traffic/latency"
)

// Result says how the requests of a route ended. Numbers need not be whole: computed ones are means.
type Result struct {
	// Requests is how many were sent, and Succeeded how many of them had an answer that is no error.
	Requests, Succeeded float64
	// Retries is how many attempts were made beyond the first ones; Withheld is how many the budget did not allow.
	Retries, Withheld float64
	// Latency has the times from the first attempt to the answer, of the requests that succeeded.
	Latency latency.Histogram

	failures map[failureKey]*Failure
}

type failureKey struct {
	cause Cause
	where string
}

// Failure is the requests that failed, for one cause at one place.
type Failure struct {
	Cause Cause
	// Where is the place in words, such as the name of a pod; it may be empty.
	Where string
	// Requests is how many failed. First and Last are when the first and the last of them were sent: their last attempts.
	Requests    float64
	First, Last time.Duration
}

// Fail counts n requests that failed, whose last attempts were sent at a time.
func (r *Result) Fail(cause Cause, where string, sent time.Duration, n float64) {
	key := failureKey{cause, where}
	f := r.failures[key]
	if f == nil {
		if r.failures == nil {
			r.failures = map[failureKey]*Failure{}
		}
		f = &Failure{Cause: cause, Where: where, First: sent, Last: sent}
		r.failures[key] = f
	}
	f.Requests += n
	f.First, f.Last = min(f.First, sent), max(f.Last, sent)
}

// Succeed counts n requests that had their answer after a time.
func (r *Result) Succeed(after time.Duration, n float64) {
	r.Succeeded += n
	r.Latency.Add(after, n)
}

// Failed returns how many requests failed.
func (r *Result) Failed() float64 {
	sum := 0.0
	for _, f := range r.Failures() { // in order, so that the sum's last digit is the same in each run
		sum += f.Requests
	}
	return sum
}

// Failures returns the failures, those with most requests first.
func (r *Result) Failures() []Failure {
	list := make([]Failure, 0, len(r.failures))
	for _, f := range r.failures {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), strings.Compare(string(a.Cause), string(b.Cause)), strings.Compare(a.Where, b.Where))
	})
	return list
}

// Load is the work of a server.
type Load struct {
	// Requests is how many it took.
	Requests float64
	// Busy is the mean number of requests in service, and Present includes the waiting ones, each times the seconds
	// since the server started.
	Busy, Present float64
}
