package chaosmesh

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/internal/network/reach"
)

// NetworkChaos and DNSChaos disturb the network for their duration.
func TestNetworkChaos(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	client := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "client", Labels: map[string]string{"app": "client"}}}
	client.Spec.Containers = []corev1.Container{{Name: "c", Image: "nginx"}}
	if _, err := b.cluster.Client().CoreV1().Pods("default").Create(t.Context(), client, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := b.cluster.Client().CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(5 * time.Second)
	want := func(outcome reach.Outcome, text string) {
		t.Helper()
		report, err := b.cluster.Kubelets().Reach(t.Context(), &reach.Ask{From: "client", To: "web"})
		if err != nil {
			t.Fatal(err)
		}
		if report.Outcome != outcome || !strings.Contains(report.Text(), text) {
			t.Errorf("got %s: %s", report.Outcome, report.Text())
		}
	}
	want(reach.Connected, "")
	b.apply(head + `
kind: NetworkChaos
metadata: {name: cut, namespace: default}
spec:
  action: partition
  mode: all
  selector: {labelSelectors: {app: client}}
  target: {mode: all, selector: {labelSelectors: {app: web}}}
  duration: 30s
`)
	b.advance(time.Second)
	want(reach.TimedOut, "cut the network between all of the pods app=client and all of the pods app=web, direction to")
	if cut := b.get(KindNetworkChaos, "cut"); !holds(cut, "AllInjected") {
		t.Errorf("its status is %v", cut.Object["status"])
	}
	b.advance(time.Minute)
	want(reach.Connected, "")
	if cut := b.get(KindNetworkChaos, "cut"); !holds(cut, "AllRecovered") {
		t.Errorf("its status is %v", cut.Object["status"])
	}
	b.apply(head + `
kind: DNSChaos
metadata: {name: names, namespace: default}
spec: {action: error, mode: all, patterns: ["we?.*"], selector: {labelSelectors: {app: client}}, duration: 10s}
`)
	b.apply(head + `
kind: Workflow
metadata: {name: flow, namespace: default}
spec:
  entry: slow
  templates:
  - {name: slow, templateType: NetworkChaos, deadline: 1m, networkChaos: {action: netem, mode: all, selector: {labelSelectors: {app: client}}, delay: {latency: 100ms, jitter: 20ms}, loss: {loss: "25"}}}
`)
	b.advance(time.Second)
	want(reach.ServerFailure, "SERVFAIL")
	b.advance(20 * time.Second)
	want(reach.Connected, "at least 160ms later") // the query, and the connection
	b.advance(2 * time.Minute)
	want(reach.Connected, "")
}

// The API server is a target outside of the selections of pods.
func TestNetworkChaosOfTheAPIServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	client := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "client", Labels: map[string]string{"app": "client"}}}
	client.Spec.Containers = []corev1.Container{{Name: "c", Image: "nginx"}}
	if _, err := b.cluster.Client().CoreV1().Pods("default").Create(t.Context(), client, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(5 * time.Second)
	for i, want := range []reach.Outcome{reach.Connected, reach.TimedOut, reach.Connected} {
		report, err := b.cluster.Kubelets().Reach(t.Context(), &reach.Ask{From: "client", To: "kubernetes:443"})
		if err != nil {
			t.Fatal(err)
		}
		if report.Outcome != want {
			t.Errorf("got %s, want %s: %s", report.Outcome, want, report.Text())
		}
		if i == 0 {
			b.apply(head + `
kind: NetworkChaos
metadata: {name: api, namespace: default}
spec: {action: partition, mode: all, selector: {labelSelectors: {app: client}}, externalTargets: [kubernetes.default.svc], duration: 30s}
`)
			b.advance(time.Second)
			continue
		}
		b.advance(time.Minute)
	}
}

// What cannot be run is refused with its reason.
func TestNetworkChaosRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{action: duplicate, mode: one, duplicate: {duplicate: '10'}}":                 "duplicate has no effect",
		"{action: delay, mode: one}":                                                   "spec.delay is missing",
		"{action: delay, mode: one, delay: {latency: soon}}":                           "spec.delay.latency",
		"{action: loss, mode: one, loss: {loss: '200'}}":                               "no percentage",
		"{action: bandwidth, mode: one, bandwidth: {rate: fast}}":                      "not a bandwidth",
		"{action: partition, mode: some}":                                              `spec.mode "some"`,
		"{action: partition, mode: all, direction: up}":                                `spec.direction "up"`,
		"{action: partition, mode: all, externalTargets: [example.com]}":               "neither an address nor a network",
		"{action: shake, mode: all}":                                                   `spec.action "shake"`,
		"{action: partition, mode: all, target: {mode: fixed, value: x}}":              "spec.target",
		"{action: netem, mode: all, loss: {loss: '1'}, duplicate: {duplicate: '1'}}":   "duplicate has no effect",
		"{action: partition, mode: all, externalTargets: [10.0.0.0/8], duration: 1m}":  "",
		"{action: partition, mode: all, externalTargets: [kubernetes.default.svc]}":    "",
		"{action: netem, mode: all, rate: {rate: 1mbps}, corrupt: {corrupt: '1.5'}}":   "",
		"{action: partition, mode: all, selector: {nodes: [node-0]}, direction: both}": "",
	} {
		var spec NetworkChaosSpec
		if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		err := checkExperiment(&spec)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
