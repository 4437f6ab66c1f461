package rehearsal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/arrivals"
	"minikcm.dev/minikcm/internal/traffic/exact"
	"minikcm.dev/minikcm/internal/traffic/flow"
	"minikcm.dev/minikcm/internal/traffic/latency"
)

var began = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// pod is a server.
type pod struct {
	name    string
	state   traffic.State
	deleted bool
}

func (p *pod) ID() string         { return p.name }
func (p *pod) Name() string       { return "pod " + p.name }
func (p *pod) Started() time.Time { return began }
func (p *pod) State() traffic.State {
	return p.state
}
func (p *pod) Invalid() error { return nil }
func (p *pod) Deleted() bool  { return p.deleted }
func (p *pod) Profile() traffic.Profile {
	return traffic.Profile{Service: latency.Constant(50 * time.Millisecond), Queue: -1}
}

// Requests between two changes meet the world as it was: the last ones of a pod are reset, those of stale rules find no pod, and the report
// says why.
func TestDeletedPod(t *testing.T) {
	for _, engine := range []Engine{exact.New(1), flow.New()} {
		rate, err := arrivals.Constant(100)
		if err != nil {
			t.Fatal(err)
		}
		pods := []*pod{{name: "web-0"}, {name: "web-1"}}
		ways := []traffic.Way{{Share: 0.5, Server: pods[0]}, {Share: 0.5, Server: pods[1]}}
		r := New(engine, began)
		at := func(d time.Duration, change func()) {
			t.Helper()
			change()
			if err := r.Update(t.Context(), began.Add(d)); err != nil {
				t.Fatal(err)
			}
		}
		route, err := r.Begin(t.Context(), began, traffic.Source{Rate: rate, Even: true}, traffic.Client{}, func(context.Context) ([]traffic.Way, error) { return ways, nil })
		if err != nil {
			t.Fatal(err)
		}
		at(10*time.Second, func() { pods[1].deleted = true })
		at(10050*time.Millisecond, func() {
			pods[1].state = traffic.Ended
			ways = []traffic.Way{ways[0], {Share: 0.5, Cause: traffic.NoRoute, Where: "pod web-1"}}
		})
		at(11*time.Second, func() { ways = []traffic.Way{{Share: 1, Server: pods[0]}} })
		at(20*time.Second, func() {})
		result := r.Result(route, began.Add(30*time.Second))
		got := map[traffic.Cause]float64{}
		for _, f := range result.Failures() {
			got[f.Cause] += f.Requests
		}
		if n := got[traffic.NoRoute]; n < 35 || n > 60 {
			t.Errorf("%T: %v requests found no route in 0.95 s of 50 a second", engine, n)
		}
		if n := got[traffic.Reset]; n < 0.5 || n > 6 {
			t.Errorf("%T: %v requests were reset, of 2.5 in the mean", engine, n)
		}
		if result.Requests < 2998 || result.Requests > 3001 || len(got) != 2 {
			t.Errorf("%T: %v requests, failures %v", engine, result.Requests, got)
		}
		var because []string
		for _, e := range r.Because(route, traffic.NoRoute, "pod web-1") {
			because = append(because, fmt.Sprintf("%v %s", e.At, e.Text))
		}
		want := []string{"10s it was deleted", "10.05s it ended, or took no more connections", "11s from here on, no connection led there"}
		if diff := cmp.Diff(want, because); diff != "" {
			t.Errorf("%T: why (-want +got):\n%s", engine, diff)
		}
	}
}

// The causes that are no end of a pod are explained by when they were so. A source that does not run sends nothing, and the others keep
// their shares.
func TestSpansAndSources(t *testing.T) {
	for _, engine := range []Engine{exact.New(1), flow.New()} {
		rate, err := arrivals.Constant(100)
		if err != nil {
			t.Fatal(err)
		}
		web := &pod{name: "web"}
		serves := traffic.Way{Share: 1, Server: web}
		ways := []traffic.Way{serves}
		r := New(engine, began)
		route, err := r.Begin(t.Context(), began, traffic.Source{Rate: rate, Even: true}, traffic.Client{Timeout: time.Second}, func(context.Context) ([]traffic.Way, error) { return ways, nil })
		if err != nil {
			t.Fatal(err)
		}
		for i, next := range [][]traffic.Way{
			{{Share: 1, Cause: traffic.Denied, Where: "pod web", After: time.Minute}},
			{serves},
			{{Share: 0.25, Cause: traffic.NoSource, Where: "node n is down"}, {Share: 0.75, Server: web}},
			{{Share: 1, Cause: traffic.NoSource, Where: "node n is down"}},
			{serves},
		} {
			ways = next
			if err := r.Update(t.Context(), began.Add(time.Duration(i+1)*10*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		result := r.Result(route, began.Add(60*time.Second))
		if n := result.Requests; n < 4740 || n > 4760 {
			t.Errorf("%T: %v requests, not 4 times 1000 and 750", engine, n)
		}
		failures := result.Failures()
		if len(failures) != 1 || failures[0].First < 10*time.Second || failures[0].Last > 20*time.Second {
			t.Errorf("%T: failures were not sent from 10 s to 20 s: %+v", engine, failures)
		}
		want := []Event{{10 * time.Second, "from here on, it was so"}, {20 * time.Second, "until here"}}
		if diff := cmp.Diff(want, r.Because(route, traffic.Denied, "pod web")); diff != "" {
			t.Errorf("%T: why (-want +got):\n%s", engine, diff)
		}
	}
}

// Servers that ended are forgotten, so that a long run costs no more than a short one.
func TestForgetsServers(t *testing.T) {
	rate, _ := arrivals.Constant(1)
	r := New(exact.New(1), began)
	p := &pod{name: "0"}
	_, err := r.Begin(t.Context(), began, traffic.Source{Rate: rate}, traffic.Client{}, func(context.Context) ([]traffic.Way, error) {
		return []traffic.Way{{Share: 1, Server: p}}, nil
	})
	for i := range 100 {
		p.state, p = []traffic.State{traffic.Ended, traffic.Finished}[i%2], &pod{name: fmt.Sprint(i + 1)}
		err = r.Update(t.Context(), began.Add(time.Duration(i)*time.Second))
	}
	if err != nil || len(r.order) != 1 || len(r.servers) != 1 {
		t.Errorf("%d and %d servers are followed: %v", len(r.order), len(r.servers), err)
	}
}
