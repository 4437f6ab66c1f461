package flow

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/arrivals"
	"minikcm.dev/minikcm/internal/traffic/exact"
	"minikcm.dev/minikcm/internal/traffic/latency"
)

// engine has the methods of both packages.
type engine interface {
	AddRoute(traffic.Source, traffic.Client) int
	AddStation(string, traffic.Profile, time.Duration) int
	Point(int, []traffic.Target)
	End(int)
	Hang(int, bool)
	Advance(time.Duration)
	Result(int) *traffic.Result
}

func source(t testing.TB, text string) traffic.Source {
	t.Helper()
	r, err := arrivals.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return traffic.Source{Rate: r}
}

func spread(t testing.TB, text string) latency.Distribution {
	t.Helper()
	d, err := latency.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// story has a route, its servers and what happens to them.
type story struct {
	name, rate, service string
	servers             int
	profile             traffic.Profile
	client              traffic.Client
	length              time.Duration
	// midway happens at half of the time.
	midway func(e engine, all []traffic.Target)
	// within is by which share quantiles may deviate, and apart by which share of the requests the failures may.
	within, apart float64
}

// run plays a story.
func (s *story) run(t *testing.T, e engine) *traffic.Result {
	profile := s.profile
	profile.Service = spread(t, s.service)
	var all []traffic.Target
	for i := range s.servers {
		all = append(all, traffic.Target{Weight: 1, Station: e.AddStation(fmt.Sprint("web-", i), profile, 0)})
	}
	route := e.AddRoute(source(t, s.rate), s.client)
	e.Point(route, all)
	e.Advance(s.length / 2)
	if s.midway != nil {
		s.midway(e, all)
	}
	e.Advance(s.length)
	return e.Result(route)
}

// Both ways to compute traffic agree: the mean of four seeds of the exact one with the computed one.
func TestBothModesAgree(t *testing.T) {
	second := traffic.Client{Timeout: time.Second}
	for _, s := range []story{
		{name: "half busy", rate: "100", service: "exponential 20ms", servers: 4, profile: traffic.Profile{Workers: 1, Queue: -1}, client: second, length: 10 * time.Minute, within: 0.05, apart: 0.001},
		{name: "busy", rate: "320", service: "exponential 20ms", servers: 2, profile: traffic.Profile{Workers: 4, Queue: -1}, client: second, length: 10 * time.Minute, within: 0.05, apart: 0.001},
		{name: "log-normal", rate: "200", service: "p50=20ms p99=120ms", servers: 2, profile: traffic.Profile{Workers: 4, Queue: -1}, client: second, length: 10 * time.Minute, within: 0.08, apart: 0.001},
		{name: "constant", rate: "100", service: "20ms", servers: 3, profile: traffic.Profile{Workers: 1, Queue: -1}, client: second, length: 10 * time.Minute, within: 0.15, apart: 0.001},
		{name: "a day's curve", rate: "sine 50 350 5m", service: "exponential 20ms", servers: 2, profile: traffic.Profile{Workers: 4, Queue: -1}, client: second, length: 10 * time.Minute, within: 0.08, apart: 0.002},
		{name: "any number at once", rate: "200", service: "p50=20ms p99=120ms", servers: 2, client: traffic.Client{Timeout: 100 * time.Millisecond}, length: 10 * time.Minute, within: 0.03, apart: 0.002},
		{name: "overload", rate: "steps 150 1m 250 1m 100", service: "exponential 20ms", servers: 1, profile: traffic.Profile{Workers: 4, Queue: -1}, length: 10 * time.Minute, within: 0.1, apart: 0.001},
		{name: "overload and time-outs", rate: "steps 150 1m 250 1m 100", service: "exponential 20ms", servers: 1, profile: traffic.Profile{Workers: 4, Queue: -1}, client: second, length: 10 * time.Minute, within: 0.1, apart: 0.02},
		{name: "short queue", rate: "240", service: "exponential 20ms", servers: 1, profile: traffic.Profile{Workers: 4, Queue: 10}, client: second, length: 10 * time.Minute, within: 0.15, apart: 0.01},
		{name: "errors and retries", rate: "100", service: "exponential 20ms", servers: 2, profile: traffic.Profile{Workers: 4, Queue: -1, ErrorRate: 0.1}, client: traffic.Client{Timeout: time.Second, Retries: 2, Backoff: 50 * time.Millisecond}, length: 20 * time.Minute, within: 0.06, apart: 0.001},
		{name: "one of two ends", rate: "200", service: "exponential 200ms", servers: 2, profile: traffic.Profile{Queue: -1}, client: second, length: 2 * time.Minute, within: 0.03, apart: 0.005, midway: func(e engine, all []traffic.Target) {
			e.End(0)
			e.Advance(70 * time.Second) // until the rules know it
			e.Point(0, all[1:])
		}},
		{name: "one of two hangs", rate: "200", service: "exponential 20ms", servers: 2, profile: traffic.Profile{Workers: 10, Queue: -1}, client: second, length: 4 * time.Minute, within: 0.05, apart: 0.01, midway: func(e engine, all []traffic.Target) {
			e.Hang(0, true)
			e.Advance(160 * time.Second)
			e.Point(0, all[1:])
		}},
		{name: "retries of a full second without endpoints", rate: "100", service: "exponential 20ms", servers: 1, client: traffic.Client{Retries: 3, Backoff: 400 * time.Millisecond}, length: 2 * time.Minute, within: 0.3, apart: 0.02, midway: func(e engine, all []traffic.Target) {
			e.Point(0, nil)
			e.Advance(65 * time.Second)
			e.Point(0, all)
		}},
	} {
		t.Run(s.name, func(t *testing.T) { agree(t, &s) })
	}
}

func agree(t *testing.T, s *story) {
	computed := s.run(t, New())
	var mean traffic.Result
	const seeds = 4
	for seed := range uint64(seeds) {
		r := s.run(t, exact.New(seed+1))
		mean.Requests += r.Requests / seeds
		mean.Succeeded += r.Succeeded / seeds
		mean.Latency.AddAll(&r.Latency, 1.0/seeds)
		for _, f := range r.Failures() {
			mean.Fail(f.Cause, f.Where, f.Last, f.Requests/seeds)
		}
	}
	if d := math.Abs(computed.Requests-mean.Requests) / mean.Requests; d > 0.02 {
		t.Errorf("%.0f requests are computed, and %.0f in the mean of the seeds", computed.Requests, mean.Requests)
	}
	for _, share := range []float64{0.5, 0.95, 0.99} {
		c, m := computed.Latency.Quantile(share).Seconds(), mean.Latency.Quantile(share).Seconds()
		t.Logf("p%.0f: computed %.4fs, exact %.4fs (%+.1f %%)", share*100, c, m, (c/m-1)*100)
		if math.Abs(c/m-1) > s.within {
			t.Errorf("p%.0f: computed %.4fs, exact %.4fs", share*100, c, m)
		}
	}
	causes := func(r *traffic.Result) map[traffic.Cause]float64 {
		all := map[traffic.Cause]float64{}
		for _, f := range r.Failures() {
			all[f.Cause] += f.Requests
		}
		return all
	}
	have, want := causes(computed), causes(&mean)
	for cause := range want {
		have[cause] += 0
	}
	for cause, n := range have {
		t.Logf("%s: computed %.0f, exact %.0f", cause, n, want[cause])
		if math.Abs(n-want[cause])/mean.Requests > s.apart {
			t.Errorf("%s: computed %.0f, exact %.0f of %.0f", cause, n, want[cause], mean.Requests)
		}
	}
}

// Equal calls give equal figures, to the last digit.
func TestRepeats(t *testing.T) {
	s := story{rate: "sine 50 350 1m", service: "p50=20ms p99=300ms", servers: 3, profile: traffic.Profile{Workers: 4, Queue: -1, ErrorRate: 0.1}, client: traffic.Client{Timeout: 200 * time.Millisecond, Retries: 2}, length: 3 * time.Minute}
	first, second := s.run(t, New()), s.run(t, New())
	if diff := cmp.Diff(first.Failures(), second.Failures()); diff != "" || first.Latency.Mean() != second.Latency.Mean() {
		t.Errorf("the second run differs:\n%s", diff)
	}
}

// A day of 1,000 requests a second on ten servers, whose rate always changes.
func BenchmarkDay(b *testing.B) {
	for range b.N {
		e := New()
		var all []traffic.Target
		for i := range 10 {
			all = append(all, traffic.Target{Weight: 1, Station: e.AddStation(fmt.Sprint("web-", i), traffic.Profile{Service: spread(b, "p50=20ms p99=300ms"), Workers: 16, Queue: -1}, 0)})
		}
		route := e.AddRoute(source(b, "sine 200 1800 24h"), traffic.Client{Timeout: time.Second, Retries: 1})
		e.Point(route, all)
		e.Advance(24 * time.Hour)
		b.ReportMetric(e.Result(route).Requests, "requests")
	}
}
