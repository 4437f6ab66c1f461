package fault

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/reach"
)

// Faults of the network decide whether connections arrive, until they are taken back.
func TestNetworkFaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"web", "db"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "nginx"}}
		if _, err := b.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "db"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := b.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.advance(5 * time.Second)
	outcome := func() reach.Outcome {
		report, err := b.cluster.Kubelets().Reach(t.Context(), &reach.Ask{From: "web", To: "db"})
		if err != nil {
			t.Fatal(err)
		}
		return report.Outcome
	}
	for text, want := range map[string]reach.Outcome{
		"{network: {action: partition, from: [app=web], to: [svc/db]}}":                reach.TimedOut,
		"{network: {action: partition, from: [app=db], to: [app=web], direction: to}}": reach.TimedOut,
		"{network: {action: loss, percent: 100, from: [pod/web]}}":                     reach.NoNameServer,
		"{network: {action: loss, percent: 50}}":                                       reach.Connected,
		"{network: {action: reset, to: [pod/db]}}":                                     reach.Reset,
		"{network: {action: partition, from: [outside]}}":                              reach.Connected,
		"{network: {action: partition, from: ['*']}}":                                  reach.NoNameServer,
		"{network: {action: partition, to: [svc/kube-system/kube-dns]}}":               reach.NoNameServer,
		"{network: {action: partition, to: [namespace/kube-system]}}":                  reach.NoNameServer,
		"{dns: {action: servfail, hosts: ['db.*']}}":                                   reach.ServerFailure,
		"{dns: {action: nxdomain, from: [app=web]}}":                                   reach.NoSuchHost,
		"{dns: {action: nxdomain, from: [app=db]}}":                                    reach.Connected,
		"{dns: {action: timeout}}":                                                     reach.NoNameServer,
		"{dns: {action: wrong}}":                                                       reach.TimedOut,
	} {
		f := read(t, text)
		env := b.env()
		undo, err := f.inject(t.Context(), &env)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := outcome(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if err := undo(context.Background()); err != nil {
			t.Error(err)
		}
		if got := outcome(); got != reach.Connected {
			t.Errorf("after %s: %s", text, got)
		}
	}
	for _, text := range []string{"from: [app=nosuch]", "to: [svc/nosuch]", "from: [deploy/nosuch]", "to: [zone/nosuch]", "from: [node/nosuch]", "from: [namespace/nosuch]", "from: [job/nosuch]"} {
		env := b.env()
		if _, err := read(t, "{network: {action: partition, "+text+"}}").inject(t.Context(), &env); !errors.Is(err, errNoMatch) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A node that is cut off from the API server serves its pods' traffic and becomes not ready; one that is cut off from its peers stays
// ready.
func TestNodesCutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, name := range []string{"here", "near", "far"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pod.Spec.NodeName = []string{"node-0", "node-0", "node-1"}[i]
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "nginx"}}
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		if _, err := b.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	b.advance(5 * time.Second)
	const yes, no = reach.Connected, reach.TimedOut
	for _, test := range []struct {
		name, fault string
		// ready is the condition of node-0 after a minute.
		ready                                              corev1.ConditionStatus
		toNear, toFar, fromFar, toAPIServer, fromAPIServer reach.Outcome
	}{
		{"from the API server", "{network: {action: partition, from: [node/node-0], to: [apiserver]}}", corev1.ConditionUnknown, yes, yes, yes, no, no},
		{"from the API server, what it sends", "{network: {action: loss, percent: 100, from: [node/node-0], to: [apiserver], direction: to}}", corev1.ConditionUnknown, yes, yes, yes, no, no},
		{"a pod from the API server", "{network: {action: partition, from: [pod/here], to: [apiserver]}}", corev1.ConditionTrue, yes, yes, yes, no, no},
		{"from its peers", "{network: {action: partition, from: [node/node-0], to: [node/node-1, node/node-2]}}", corev1.ConditionTrue, yes, no, no, yes, yes},
		{"slowly from the API server", "{network: {action: delay, delay: 1s, from: [node/node-0], to: [apiserver]}}", corev1.ConditionTrue, yes, yes, yes, yes, yes},
		{"from everything", "{nodes: {action: partition, names: [node-0]}}", corev1.ConditionUnknown, yes, no, no, no, no},
	} {
		env := b.env()
		undo, err := read(t, test.fault).inject(t.Context(), &env)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		b.advance(time.Minute)
		if got := b.nodeCondition("node-0", corev1.NodeReady); got != test.ready {
			t.Errorf("%s: node-0 is ready: %s, want %s", test.name, got, test.ready)
		}
		for _, way := range []struct {
			from, to string
			want     reach.Outcome
		}{
			{"here", "pod/near:80", test.toNear},
			{"here", "pod/far:80", test.toFar},
			{"far", "pod/here:80", test.fromFar},
			{"here", "apiserver", test.toAPIServer},
			{"apiserver", "pod/here:80", test.fromAPIServer},
		} {
			report, err := b.cluster.Kubelets().Reach(t.Context(), &reach.Ask{From: way.from, To: way.to})
			if err != nil {
				t.Fatal(err)
			}
			if report.Outcome != way.want && (way.want == no || report.Outcome == no) { // nginx listens on no declared port
				t.Errorf("%s: %s to %s: %s, want %s\n%s", test.name, way.from, way.to, report.Outcome, way.want, report.Text())
			}
		}
		if err := undo(context.Background()); err != nil {
			t.Error(err)
		}
		b.advance(time.Minute)
		if got := b.nodeCondition("node-0", corev1.NodeReady); got != corev1.ConditionTrue {
			t.Errorf("after %s: node-0 is ready: %s", test.name, got)
		}
	}
}
