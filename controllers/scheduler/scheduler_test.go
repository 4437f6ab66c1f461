package scheduler

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
)

func TestBindsAndExplains(t *testing.T) {
	tc := startCluster(t, clock.Real(), clock.NewLedger(), testNode("a"))
	tc.create(testPod("small", requests("cpu", "3")))
	tc.eventually("the pod to be bound", tc.bound("small", "a"))
	tc.eventually("the event", tc.reported("small", reasonScheduled, "Successfully assigned default/small to a"))
	tc.create(testPod("big", requests("cpu", "3")))
	message := "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	tc.eventually("the condition", func(ctx context.Context) bool {
		c := tc.condition(ctx, "big", corev1.PodScheduled)
		return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable && c.Message == message
	})
	tc.eventually("the event", tc.reported("big", reasonFailed, message))
	if _, err := tc.client.CoreV1().Nodes().Create(t.Context(), testNode("b"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tc.eventually("the pod to be bound to the new node", tc.bound("big", "b"))
}

func TestRoomThatBecomesFree(t *testing.T) {
	for name, free := range map[string]func(tc *testCluster){
		"deleted": func(tc *testCluster) {
			if err := tc.client.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"ended": func(tc *testCluster) {
			pod := tc.pod(t.Context(), "a")
			pod.Status.Phase = corev1.PodSucceeded
			if _, err := tc.client.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc := startCluster(t, clock.Real(), clock.NewLedger(), testNode("n"), testPod("a", requests("cpu", "3"), onNode("n")), testPod("b", requests("cpu", "3")))
			tc.eventually("the pod to be refused", func(ctx context.Context) bool {
				return tc.condition(ctx, "b", corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
			})
			free(tc)
			tc.eventually("the pod to be bound", tc.bound("b", "n"))
		})
	}
}

func TestPreemptsThroughTheAPI(t *testing.T) {
	tc := startCluster(t, clock.Real(), clock.NewLedger(), testNode("n"),
		testPod("keep", requests("cpu", "1"), priority(5), onNode("n")), testPod("victim", requests("cpu", "3"), onNode("n")))
	preemptor := testPod("p", requests("cpu", "3"), priority(9))
	tc.create(preemptor)
	tc.eventually("the pod to be bound", tc.bound("p", "n"))
	tc.eventually("the victim's event", tc.reported("victim", reasonPreempted, fmt.Sprintf("Preempted by pod %s on node n", preemptor.UID)))
	if tc.pod(t.Context(), "victim") != nil || tc.pod(t.Context(), "keep") == nil {
		t.Error("the wrong pod went")
	}
	var marked, nominated bool
	for _, action := range tc.client.Actions() {
		patch, ok := action.(clienttesting.PatchAction)
		if !ok {
			continue
		}
		body := string(patch.GetPatch())
		marked = marked || patch.GetName() == "victim" && contains(body, `"type":"DisruptionTarget"`, `"reason":"PreemptionByScheduler"`,
			`"message":"default-scheduler: preempting to accommodate a higher priority pod"`)
		nominated = nominated || patch.GetName() == "p" && contains(body, `"nominatedNodeName":"n"`)
	}
	if !marked || !nominated {
		t.Errorf("victim marked: %v, node nominated: %v", marked, nominated)
	}
}

func TestFailedBindingIsRetried(t *testing.T) {
	ledger := clock.NewLedger()
	tc := startCluster(t, clock.Scaled(1000), ledger, testNode("n"))
	tc.mu.Lock()
	tc.failures = 3
	tc.mu.Unlock()
	tc.create(testPod("p"))
	tc.eventually("the pod to be bound", tc.bound("p", "n"))
	tc.eventually("the event", tc.reported("p", reasonFailed, `running Bind plugin "DefaultBinder": Internal error occurred: not now`))
}

func TestLeavesAlone(t *testing.T) {
	other := func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }
	gated := func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }
	deleted := func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		p.Finalizers = []string{"example.com/f"}
	}
	tc := startCluster(t, clock.Real(), clock.NewLedger(), testNode("n"))
	tc.create(testPod("other", other))
	tc.create(testPod("gated", gated))
	tc.create(testPod("deleted", deleted))
	tc.create(testPod("p"))
	tc.eventually("the pod to be bound", tc.bound("p", "n"))
	tc.eventually("the event", tc.reported("deleted", reasonFailed, "skip schedule deleting pod: default/deleted"))
	for _, name := range []string{"other", "gated", "deleted"} {
		if node := tc.pod(t.Context(), name).Spec.NodeName; node != "" {
			t.Errorf("%s was bound to %s", name, node)
		}
	}
	pod := tc.pod(t.Context(), "gated")
	pod.Spec.SchedulingGates = nil
	pod.ResourceVersion = ""
	if _, err := tc.client.CoreV1().Pods("default").Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	tc.eventually("the pod without gates to be bound", tc.bound("gated", "n"))
}

// A node nominated before the scheduler's start keeps its room.
func TestNominatedBefore(t *testing.T) {
	nominated := testPod("important", requests("cpu", "3"), priority(5), func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" })
	tc := startCluster(t, clock.Real(), clock.NewLedger(), testNode("n"), testNode("m"), testPod("going", requests("cpu", "3"), onNode("n"), beingPreempted), nominated,
		testPod("x", requests("cpu", "4"), onNode("m"), priority(9)))
	tc.eventually("the pod to be refused", func(ctx context.Context) bool {
		c := tc.condition(ctx, "important", corev1.PodScheduled)
		return c.Message == "0/2 nodes are available: 2 Insufficient cpu. preemption: "+messageTerminating
	})
	tc.create(testPod("less", requests("cpu", "3")))
	tc.eventually("the other pod to be refused", func(ctx context.Context) bool {
		return tc.condition(ctx, "less", corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
	})
	if err := tc.client.CoreV1().Pods("default").Delete(t.Context(), "going", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	tc.eventually("the pod to be bound", tc.bound("important", "n"))
	if node := tc.pod(t.Context(), "less").Spec.NodeName; node != "" {
		t.Errorf("the less important pod was bound to %s", node)
	}
}

// A pod that pods elsewhere keep from every node is looked at again when one of
// them goes, comes or is labelled otherwise.
func TestWaitsForOthers(t *testing.T) {
	web := podLabel("app", "web")
	const host = corev1.LabelHostname
	remove := func(tc *testCluster) {
		if err := tc.client.CoreV1().Pods("default").Delete(t.Context(), "o", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	label := func(tc *testCluster) {
		pod := tc.pod(t.Context(), "o")
		pod.Labels = map[string]string{"app": "db"}
		if _, err := tc.client.CoreV1().Pods("default").Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	come := func(tc *testCluster) { tc.create(testPod("c", web)) }
	noPreemption := func(p *corev1.Pod) { p.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever) }
	for name, tt := range map[string]struct {
		there, pod *corev1.Pod
		change     func(tc *testCluster)
	}{
		"who it avoids goes":           {testPod("o", onNode("n"), web), testPod("p", avoiding(near(host, "web"))), remove},
		"who it avoids is no longer":   {testPod("o", onNode("n"), web), testPod("p", avoiding(near(host, "web"))), label},
		"who avoids it goes":           {testPod("o", onNode("n"), avoiding(near(host, "web"))), testPod("p", web), remove},
		"who it needs comes":           {testPod("o", onNode("n")), testPod("p", requiring(near(host, "web"))), come},
		"who is one too many goes":     {testPod("o", onNode("n"), web), testPod("p", web, spreadBy(host, 1, atLeast(2))), remove},
		"who is one too many is other": {testPod("o", onNode("n"), web), testPod("p", web, spreadBy(host, 1, atLeast(2))), label},
	} {
		t.Run(name, func(t *testing.T) {
			noPreemption(tt.pod)
			tc := startCluster(t, clock.Real(), clock.NewLedger(), testNode("n"), tt.there, tt.pod)
			tc.eventually("the pod to be refused", func(ctx context.Context) bool {
				return tc.condition(ctx, "p", corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
			})
			tt.change(tc)
			tc.eventually("the pod to be bound", tc.bound("p", "n"))
		})
	}
}
