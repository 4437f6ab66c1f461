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
