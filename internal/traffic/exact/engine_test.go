package exact

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/internal/traffic"
)

// summary is a result in words.
func summary(r *traffic.Result) []string {
	list := []string{fmt.Sprintf("%.0f of %.0f", r.Succeeded, r.Requests)}
	if r.Retries+r.Withheld > 0 {
		list = append(list, fmt.Sprintf("%.0f retries, %.0f withheld", r.Retries, r.Withheld))
	}
	for _, f := range r.Failures() {
		list = append(list, fmt.Sprintf("%.0f %s %s %v..%v", f.Requests, f.Cause, f.Where, f.First, f.Last))
	}
	return list
}

// With ten requests a second at even distances, and a service time of 50 ms, every figure is known.
func TestFates(t *testing.T) {
	quick := traffic.Profile{Service: spread(t, "50ms"), Workers: 10, Queue: -1}
	for _, c := range []struct {
		name    string
		client  traffic.Client
		profile traffic.Profile
		// change happens to the route and the server at 950ms, when the server has a request since 900ms.
		change func(e *Engine)
		want   []string
	}{
		{name: "nothing happens", profile: quick, want: []string{"20 of 20"}},
		{
			name: "the server ends with a request", profile: traffic.Profile{Service: spread(t, "80ms")},
			change: func(e *Engine) { e.End(0) },
			want:   []string{"8 of 20", "11 refused web-0 1s..2s", "1 reset web-0 900ms..900ms"},
		},
		{
			name: "the server drains", profile: traffic.Profile{Service: spread(t, "80ms")},
			change: func(e *Engine) {
				e.Drain(0)
				e.Point(0, []traffic.Target{{Weight: 1, Cause: traffic.Refused, Where: "web-0 ends"}})
			},
			want: []string{"9 of 20", "11 refused web-0 ends 1s..2s"},
		},
		{
			name: "no endpoint", profile: quick, change: func(e *Engine) { e.Point(0, nil) },
			want: []string{"9 of 20", "11 no endpoint  1s..2s"},
		},
		{
			name: "a policy drops the packets", profile: quick, client: traffic.Client{Timeout: 300 * time.Millisecond},
			change: func(e *Engine) {
				e.Point(0, []traffic.Target{{Weight: 1, Cause: traffic.Denied, After: 127 * time.Second}})
			},
			want: []string{"9 of 20", "8 dropped by a policy  1s..1.7s"},
		},
		{
			name: "the server hangs", profile: quick, client: traffic.Client{Timeout: 300 * time.Millisecond},
			change: func(e *Engine) { e.Hang(0, true) },
			want:   []string{"9 of 20", "8 timed out web-0 1s..1.7s"},
		},
		{
			name: "retries reach a server that is back", profile: quick, client: traffic.Client{Retries: 3, Backoff: 200 * time.Millisecond},
			change: func(e *Engine) {
				e.Point(0, []traffic.Target{{Weight: 1, Cause: traffic.Refused}})
				e.Advance(1500 * time.Millisecond)
				e.Point(0, []traffic.Target{{Weight: 1, Station: 0}})
			},
			want: []string{"20 of 20", "10 retries, 0 withheld"},
		},
		{
			name: "the budget withholds retries", profile: quick, client: traffic.Client{Retries: 3, Backoff: time.Millisecond, Budget: 0.1},
			change: func(e *Engine) { e.Point(0, nil) },
			want:   []string{"9 of 20", "10 retries, 8 withheld", "11 no endpoint  1.007s..2s"},
		},
		{
			name: "the queue is full", profile: traffic.Profile{Service: spread(t, "1s"), Workers: 1, Queue: 2},
			want: []string{"1 of 20", "16 queue full web-0 400ms..2s"},
		},
		{
			name: "warming up", profile: traffic.Profile{Service: spread(t, "50ms"), WarmUp: time.Second, WarmFactor: 81},
			want: []string{"14 of 20"}, // (81 - 80*s) * 50ms at s: those from 0.7s on end by 2.06s
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := rate(t, "steps 10 2050ms 0")
			source.Even = true
			e := single(1, source, c.client, c.profile)
			e.Advance(950 * time.Millisecond)
			if c.change != nil {
				c.change(e)
			}
			e.Advance(2060 * time.Millisecond)
			if diff := cmp.Diff(c.want, summary(e.Result(0))); diff != "" {
				t.Errorf("the result differs (-want +got):\n%s", diff)
			}
			if got := e.Result(0); got.Succeeded+got.Failed()+float64(e.Open(0)) != got.Requests {
				t.Errorf("%v succeeded, %v failed and %v are open of %v", got.Succeeded, got.Failed(), e.Open(0), got.Requests)
			}
		})
	}
}

// Requests that hang go on when the server does.
func TestHangEnds(t *testing.T) {
	source := rate(t, "steps 10 1s 0")
	source.Even = true
	e := single(1, source, traffic.Client{}, traffic.Profile{Service: spread(t, "10ms"), Workers: 1, Queue: -1})
	e.Advance(500 * time.Millisecond)
	e.Hang(0, true)
	e.Advance(5 * time.Second)
	if got := summary(e.Result(0)); got[0] != "4 of 10" {
		t.Errorf("while it hangs: %s", got)
	}
	e.Hang(0, false)
	e.Advance(6 * time.Second)
	if got := summary(e.Result(0)); got[0] != "10 of 10" {
		t.Errorf("afterwards: %s", got)
	}
}

// Each new connection is for any server; a kept one stays with its server, so that a server that comes later gets little.
func TestConnections(t *testing.T) {
	shares := func(connections int) float64 {
		e := New(5)
		profile := traffic.Profile{Service: spread(t, "exponential 20ms")}
		all := []traffic.Target{{Weight: 1, Station: e.AddStation("web-0", profile, 0)}}
		route := e.AddRoute(rate(t, "500"), traffic.Client{Connections: connections})
		e.Point(route, all)
		e.Advance(10 * time.Second)
		e.Point(route, append(all, traffic.Target{Weight: 1, Station: e.AddStation("web-1", profile, 0)}))
		e.Advance(60 * time.Second)
		return e.Load(1).Requests / (e.Result(route).Requests * 5 / 6)
	}
	if got := shares(0); got < 0.49 || got > 0.51 {
		t.Errorf("without kept connections, the second server gets %.3f of the requests", got)
	}
	if got := shares(100); got > 0.1 {
		t.Errorf("with kept connections, the second server gets %.3f of the requests", got)
	}
}

func TestWeights(t *testing.T) {
	e := New(5)
	targets := []traffic.Target{{Weight: 9, Station: e.AddStation("a", traffic.Profile{}, 0)}, {Weight: 1, Station: e.AddStation("b", traffic.Profile{}, 0)}}
	e.Point(e.AddRoute(rate(t, "1000"), traffic.Client{}), targets)
	e.Advance(100 * time.Second)
	near(t, "the share of the first", e.Load(0).Requests/e.Result(0).Requests, 0.9, 0.01)
}

// Equal seeds give equal figures, however the time is cut; other parts do not change what a route draws.
func TestRepeats(t *testing.T) {
	run := func(seed uint64, step time.Duration, others int) *traffic.Result {
		e := single(seed, rate(t, "sine 10 200 1m"), traffic.Client{Timeout: 200 * time.Millisecond, Retries: 2, Backoff: 10 * time.Millisecond}, traffic.Profile{
			Service: spread(t, "p50=20ms p99=300ms"), Workers: 3, Queue: 50, ErrorRate: 0.01,
		})
		for range others {
			e.AddRoute(rate(t, "10"), traffic.Client{})
		}
		for at := time.Duration(0); at < 2*time.Minute; at += step {
			e.Advance(at)
		}
		e.Advance(2 * time.Minute)
		return e.Result(0)
	}
	first := run(1, time.Minute, 0)
	for name, other := range map[string]*traffic.Result{"other steps": run(1, time.Millisecond, 0), "with others": run(1, time.Second, 2)} {
		if diff := cmp.Diff(summary(first), summary(other)); diff != "" || first.Latency.Mean() != other.Latency.Mean() {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if other := run(2, time.Minute, 0); other.Latency.Mean() == first.Latency.Mean() {
		t.Error("another seed gives the same figures")
	}
}

func BenchmarkRequests(b *testing.B) {
	e := New(1)
	var targets []traffic.Target
	for i := range 20 {
		targets = append(targets, traffic.Target{Weight: 1, Station: e.AddStation(fmt.Sprint("web-", i), traffic.Profile{Service: spread(b, "p50=5ms p99=50ms"), Workers: 16, Queue: -1}, 0)})
	}
	route := e.AddRoute(rate(b, "20000"), traffic.Client{Timeout: time.Second, Retries: 1})
	e.Point(route, targets)
	b.ResetTimer()
	e.Advance(time.Duration(b.N) * time.Second / 20000)
	b.ReportMetric(e.Result(route).Requests/b.Elapsed().Seconds(), "requests/s")
}
