package scheduler

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/clock"
)

func TestBindsAndExplains(t *testing.T) {
	tc := startCluster(t, clock.Real(), clock.NewLedger(), testNode("a"), testPod("small", requests("cpu", "3")), testPod("big", requests("cpu", "3")))
	var waiting string
	tc.eventually("one of two pods to be bound, the other to say why not", func(ctx context.Context) bool {
		var bound, explained int
		for _, name := range []string{"small", "big"} {
			pod := tc.pod(ctx, name)
			if pod.Spec.NodeName == "a" {
				bound++
				continue
			}
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					waiting = name
					explained++
				}
			}
		}
		return bound == 1 && explained == 1
	})
	tc.eventually("the event Scheduled", func(ctx context.Context) bool {
		list, err := tc.client.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Reason == reasonScheduled && e.Source.Component == Name {
				return true
			}
		}
		return false
	})
	if _, err := tc.client.CoreV1().Nodes().Create(t.Context(), testNode("b"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tc.eventually("the pod to be bound to the new node", tc.bound(waiting, "b"))
}
