package capacity

import (
	"fmt"
	"strings"
	"testing"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/capacity/internal/remedy"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// checkoutOf is a Service whose Deployment has so many replicas and these further fields of the container.
func checkoutOf(replicas int, container string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: checkout, namespace: default}
spec: {selector: {app: checkout}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: checkout, namespace: default}
spec:
  replicas: %d
  selector: {matchLabels: {app: checkout}}
  template:
    metadata: {labels: {app: checkout}}
    spec: {containers: [{name: c, image: checkout, ports: [{containerPort: 80}]%s}]}
`, replicas, container)
}

// askWithTraffic drains the node of a pod of checkout while requests come.
func askWithTraffic(t *testing.T, manifests string) *Report {
	t.Helper()
	traffic, err := parseTraffic("rates.yaml", []byte("traffic: [{to: svc/checkout, rate: 100, even: true, client: {timeout: 1s}}]"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dump.Decode([]byte(manifests+threeNodes()), dump.MaxObjects)
	if err != nil {
		t.Fatal(err)
	}
	latencies := minikcm.Latencies{PodStart: TrafficStartDelay, ContainerReady: TrafficReadyDelay}
	f, err := Open(t.Context(), Options{Objects: dump.New("the test", objects), Traffic: traffic, Latencies: latencies})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := f.state(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	changes, err := ParseChanges([]string{"drain", s.pods[0].Spec.NodeName}, "default")
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.WhatIf(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Advise(t.Context(), changes, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Requests fail while the only replica moves. Two with a hook fail none, also in the trial of that remedy, which must have a pod on the
// node that is drained.
func TestDrainWithTraffic(t *testing.T) {
	t.Parallel()
	one := askWithTraffic(t, checkoutOf(1, ""))
	if sent := one.Traffic[0]; sent.Failed < 600 || sent.Failed > 1000 || sent.Failures[0].Cause != "no endpoint" {
		t.Errorf("the drain of the only replica:\n%s", printed(t, one))
	}
	if len(one.Remedies) != 1 {
		t.Fatalf("there are %d remedies:\n%s", len(one.Remedies), printed(t, one))
	}
	if r := one.Remedies[0]; !r.Enough || r.ThenFailed != 0 || r.Change != "two replicas on different nodes and a preStop hook that sleeps 5 s" || len(r.Commands) != 1 {
		t.Errorf("the remedy is %+v", r)
	}
	two := askWithTraffic(t, checkoutOf(2, ", lifecycle: {preStop: {sleep: {seconds: 5}}}"))
	if sent := two.Traffic[0]; sent.Failed != 0 || sent.Requests < 1000 || len(two.Remedies) != 0 || len(two.Moved) == 0 {
		t.Errorf("the drain of one of two:\n%s", printed(t, two))
	}
}

// The first remedy that is enough is chosen; if none is, the best one that halves the failures.
func TestChoiceOfRemedies(t *testing.T) {
	t.Parallel()
	tries := []remedy.Remedy{{Replicas: true}, {Sleep: 5}, {Replicas: true, Sleep: 5}}
	for name, test := range map[string]struct {
		// failed are the failures with each remedy, without which 100 fail; below zero: it is not possible.
		failed []int64
		want   string
		enough bool
		trials int
	}{
		"the first":               {[]int64{0, 0, 0}, tries[0].String(), true, 1},
		"a later one":             {[]int64{70, 0, 0}, tries[1].String(), true, 2},
		"one that is possible":    {[]int64{-1, -1, 0}, tries[2].String(), true, 3},
		"the best one":            {[]int64{40, 20, 30}, tries[1].String(), false, 4},
		"none that halves them":   {[]int64{90, 80, 70}, "", false, 4},
		"none that is possible":   {[]int64{-1, -1, -1}, "", false, 4},
		"the first of equal ones": {[]int64{40, 40, 40}, tries[0].String(), false, 4},
	} {
		before := &Report{Traffic: []runrecord.Traffic{{Name: "web", Requests: 1000, Failed: 100}}}
		w := &advised{routes: []int{0}, tries: tries, best: -1, bestFailed: 51}
		trials := 0
		last := before
		for more := true; more; trials++ {
			failed := int64(100)
			if w.at >= 0 && w.at < len(tries) {
				failed = test.failed[w.at]
			}
			last = &Report{Traffic: []runrecord.Traffic{{Name: "web", Requests: 1000, Failed: max(failed, 0)}}}
			more = w.judge(last, failed >= 0)
		}
		found := w.found(before, last)
		if found.Change != test.want || found.Enough != test.enough || trials != test.trials {
			t.Errorf("%s: after %d trials: %+v", name, trials, found)
		}
	}
}

// Without a source, requests come from outside; many of them are counted, not simulated.
func TestTrafficDefaults(t *testing.T) {
	t.Parallel()
	traffic, err := parseTraffic("rates.yaml", []byte("traffic:\n- {to: svc/web, namespace: shop, rate: 100}\n- {to: svc/web, rate: 100000}\n- {name: x, from: deploy/a, to: web, rate: 100000, mode: exact, for: 1m}"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range traffic.routes {
		got = append(got, strings.Join([]string{r.Name, r.From, r.Mode}, " "))
	}
	if want := "svc/web in shop 203.0.113.1 exact, svc/web 203.0.113.1 flow, x deploy/a exact"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}
