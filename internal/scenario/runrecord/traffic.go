package runrecord

import (
	"math"
	"time"

	"minikcm.dev/minikcm/internal/traffic"
)

// Traffic says what became of the requests of a route.
type Traffic struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
	// Requests were sent; of these, Succeeded had an answer that is no error, Failed had none, and the others have no end yet.
	Requests  int64 `json:"requests"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	// Retries are the attempts beyond the first ones, and Withheld those that the budget did not allow.
	Retries  int64 `json:"retries,omitempty"`
	Withheld int64 `json:"withheld,omitempty"`
	// P50, P95 and P99 are quantiles of the time until the answer, of the requests that succeeded.
	P50 time.Duration `json:"p50"`
	P95 time.Duration `json:"p95"`
	P99 time.Duration `json:"p99"`
	// Failures are the failed requests by cause and place, those with most requests first. Others were at further places.
	Failures []TrafficFailure `json:"failures,omitempty"`
	Others   int64            `json:"others,omitempty"`
	// Warnings are why the figures may not be what was meant, such as a source that never existed.
	Warnings []string `json:"warnings,omitempty"`
	// Objectives are the objectives of the route.
	Objectives []Objective `json:"objectives,omitempty"`
}

// TrafficFailure is the requests that failed for a cause at a place.
type TrafficFailure struct {
	Cause    traffic.Cause `json:"cause"`
	Where    string        `json:"where,omitempty"`
	Requests int64         `json:"requests"`
	// First and Last are when the first and the last of them were sent, as offsets from the run's start.
	First time.Duration `json:"first"`
	Last  time.Duration `json:"last"`
	// Because says what led to them, such as the deletion of a pod.
	Because []Note `json:"because,omitempty"`
}

// Objective is an objective of a route, and how far it was met.
type Objective struct {
	// Text says what was wanted, such as "availability 99.9%", and Got what was.
	Text string `json:"text"`
	Got  string `json:"got"`
	Met  bool   `json:"met"`
}

// maxTrafficFailures bounds the places of failures in a record.
const maxTrafficFailures = 50

// TrafficOf returns what the record keeps of a result.
func TrafficOf(r *traffic.Result) Traffic {
	whole := func(n float64) int64 { return int64(math.Round(n)) }
	t := Traffic{
		Requests: whole(r.Requests), Succeeded: whole(r.Succeeded), Failed: whole(r.Failed()), Retries: whole(r.Retries), Withheld: whole(r.Withheld),
		P50: r.Latency.Quantile(0.5), P95: r.Latency.Quantile(0.95), P99: r.Latency.Quantile(0.99),
	}
	for i, f := range r.Failures() {
		if i >= maxTrafficFailures {
			t.Others += whole(f.Requests)
			continue
		}
		t.Failures = append(t.Failures, TrafficFailure{Cause: f.Cause, Where: f.Where, Requests: whole(f.Requests), First: f.First, Last: f.Last})
	}
	return t
}

// Traffic keeps what became of the requests of a route.
func (r *Recorder) Traffic(t Traffic) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Traffic = append(r.run.Traffic, t)
}
