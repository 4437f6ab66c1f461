package exact

import (
	"math"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/arrivals"
	"minikcm.dev/minikcm/internal/traffic/latency"
	"minikcm.dev/minikcm/internal/traffic/queueing"
)

// rate parses a rate.
func rate(t testing.TB, text string) traffic.Source {
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

// single returns an engine with one route to one server.
func single(seed uint64, source traffic.Source, client traffic.Client, profile traffic.Profile) *Engine {
	e := New(seed)
	station := e.AddStation("web-0", profile, 0)
	e.Point(e.AddRoute(source, client), []traffic.Target{{Weight: 1, Station: station}})
	return e
}

// near reports a figure that deviates by more than a share.
func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got-want) <= share*math.Abs(want)) {
		t.Errorf("%s is %.6g, not within %.1f %% of %.6g", what, got, share*100, want)
	}
}

// Of a queue with Poisson arrivals, theory knows the mean wait: exactly for one worker (Pollaczek and Khinchine) and for exponential service
// times (Erlang). In every queue, the mean number of requests present is the rate times the mean time that they stay (Little).
func TestMeansAgreeWithTheory(t *testing.T) {
	for _, c := range []struct {
		name, rate, service string
		workers             int
		within              float64
	}{
		{"M/M/1, half busy", "50", "exponential 10ms", 1, 0.02},
		{"M/M/1, busy", "80", "exponential 10ms", 1, 0.03},
		{"M/M/4", "280", "exponential 10ms", 4, 0.03},
		{"M/M/8", "600", "exponential 10ms", 8, 0.04},
		{"M/D/1", "70", "10ms", 1, 0.02},
		{"M/G/1, percentiles", "20", "p50=20ms p99=120ms", 1, 0.04},
		{"M/G/1, three percentiles", "15", "p50=20ms p90=60ms p99=150ms", 1, 0.04},
	} {
		t.Run(c.name, func(t *testing.T) {
			profile := traffic.Profile{Service: spread(t, c.service), Workers: c.workers, Queue: -1}
			source := rate(t, c.rate)
			e := single(1, source, traffic.Client{}, profile)
			perSecond := source.Rate.At(0)
			length := time.Duration(1e6 / perSecond * float64(time.Second))
			e.Advance(length)
			result, load := e.Result(0), e.Load(0)
			queue := queueing.Queue{Workers: c.workers, Service: profile.Service.Mean(), Variation: profile.Service.Variation()}
			near(t, "the mean wait", (load.Present-load.Busy)/load.Requests, queue.Wait(perSecond), c.within)
			near(t, "the mean number in service", load.Busy/length.Seconds(), perSecond*queue.Service, 0.02)
			near(t, "the mean number present", load.Present/length.Seconds(), result.Requests/length.Seconds()*result.Latency.Mean(), 0.001)
			near(t, "the mean number present", load.Present/length.Seconds(), queue.Present(perSecond*queue.Service/float64(c.workers)), 0.03)
		})
	}
}

// The times that requests stay in an M/M/1 queue are exponential, too.
func TestQuantilesOfOneWorker(t *testing.T) {
	e := single(2, rate(t, "60"), traffic.Client{}, traffic.Profile{Service: spread(t, "exponential 10ms"), Workers: 1, Queue: -1})
	e.Advance(10 * time.Hour)
	for _, share := range []float64{0.5, 0.95, 0.99, 0.999} {
		near(t, "a quantile", e.Result(0).Latency.Quantile(share).Seconds(), -math.Log(1-share)/(100-60), 0.03)
	}
}

// With a limited queue, theory knows the share that finds it full (M/M/c/K), also above the capacity.
func TestLimitedQueue(t *testing.T) {
	for _, text := range []string{"180", "300"} {
		e := single(3, rate(t, text), traffic.Client{}, traffic.Profile{Service: spread(t, "exponential 10ms"), Workers: 2, Queue: 5})
		e.Advance(2 * time.Hour)
		result := e.Result(0)
		want, _ := queueing.Blocked(2, 5, result.Requests/7200/100)
		near(t, "the share that finds the queue full", result.Failed()/result.Requests, want, 0.02)
		if f := result.Failures(); len(f) != 1 || f[0].Cause != traffic.QueueFull || f[0].Where != "web-0" {
			t.Errorf("failures: %v", f)
		}
	}
}

func TestDistributions(t *testing.T) {
	for _, text := range []string{"20ms", "exponential 20ms", "p50=20ms p99=300ms", "p10=1ms p50=20ms p90=30ms p99.9=100ms"} {
		d := spread(t, text)
		random := New(7).random(9, 9)
		var seen latency.Histogram
		squares, n := 0.0, 1_000_000
		for range n {
			s := d.Sample(random)
			seen.Add(s, 1)
			squares += s.Seconds() * s.Seconds()
		}
		near(t, text+": mean", seen.Mean(), d.Mean(), 0.01)
		for _, share := range []float64{0.1, 0.5, 0.9, 0.99} {
			near(t, text+": quantile", seen.Quantile(share).Seconds(), d.Quantile(share).Seconds(), 0.02)
		}
		near(t, text+": variation", 1+squares/float64(n)/seen.Mean()/seen.Mean()-1, 1+d.Variation(), 0.05)
	}
}
