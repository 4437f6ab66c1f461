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
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

func TestBindsAndExplains(t *testing.T) {
	tc := startCluster(t, clock.Real(), clock.NewLedger(), st.Node("a"))
	tc.create(st.Pod("small", st.Requests("cpu", "3")))
	tc.eventually("the pod to be bound", tc.bound("small", "a"))
	tc.eventually("the event", tc.reported("small", reasonScheduled, "Successfully assigned default/small to a"))
	tc.create(st.Pod("big", st.Requests("cpu", "3")))
	message := "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	tc.eventually("the condition", func(ctx context.Context) bool {
		c := tc.condition(ctx, "big", corev1.PodScheduled)
		return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable && c.Message == message
	})
	tc.eventually("the event", tc.reported("big", reasonFailed, message))
	if _, err := tc.client.CoreV1().Nodes().Create(t.Context(), st.Node("b"), metav1.CreateOptions{}); err != nil {
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
			tc := startCluster(t, clock.Real(), clock.NewLedger(), st.Node("n"), st.Pod("a", st.Requests("cpu", "3"), st.OnNode("n")), st.Pod("b", st.Requests("cpu", "3")))
			tc.eventually("the pod to be refused", func(ctx context.Context) bool {
				return tc.condition(ctx, "b", corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
			})
			free(tc)
			tc.eventually("the pod to be bound", tc.bound("b", "n"))
		})
	}
}

func TestPreemptsThroughTheAPI(t *testing.T) {
	tc := startCluster(t, clock.Real(), clock.NewLedger(), st.Node("n"),
		st.Pod("keep", st.Requests("cpu", "1"), st.Priority(5), st.OnNode("n")), st.Pod("victim", st.Requests("cpu", "3"), st.OnNode("n")))
	preemptor := st.Pod("p", st.Requests("cpu", "3"), st.Priority(9))
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
	tc := startCluster(t, clock.Scaled(1000), ledger, st.Node("n"))
	tc.mu.Lock()
	tc.failures = 3
	tc.mu.Unlock()
	tc.create(st.Pod("p"))
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
	tc := startCluster(t, clock.Real(), clock.NewLedger(), st.Node("n"))
	tc.create(st.Pod("other", other))
	tc.create(st.Pod("gated", gated))
	tc.create(st.Pod("deleted", deleted))
	tc.create(st.Pod("p"))
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
	nominated := st.Pod("important", st.Requests("cpu", "3"), st.Priority(5), func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" })
	tc := startCluster(t, clock.Real(), clock.NewLedger(), st.Node("n"), st.Node("m"), st.Pod("going", st.Requests("cpu", "3"), st.OnNode("n"), st.BeingPreempted), nominated,
		st.Pod("x", st.Requests("cpu", "4"), st.OnNode("m"), st.Priority(9)))
	tc.eventually("the pod to be refused", func(ctx context.Context) bool {
		c := tc.condition(ctx, "important", corev1.PodScheduled)
		return c.Message == "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node."
	})
	tc.create(st.Pod("less", st.Requests("cpu", "3")))
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

// A pod that pods elsewhere keep from every node is retried when one of them goes, comes or changes
// its labels.
func TestWaitsForOthers(t *testing.T) {
	web := st.PodLabel("app", "web")
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
	come := func(tc *testCluster) { tc.create(st.Pod("c", web)) }
	noPreemption := func(p *corev1.Pod) { p.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever) }
	for name, tt := range map[string]struct {
		there, pod *corev1.Pod
		change     func(tc *testCluster)
	}{
		"the pod that it avoids is deleted":    {st.Pod("o", st.OnNode("n"), web), st.Pod("p", st.Avoiding(st.Near(host, "web"))), remove},
		"the pod that it avoids is relabelled": {st.Pod("o", st.OnNode("n"), web), st.Pod("p", st.Avoiding(st.Near(host, "web"))), label},
		"the pod that avoids it is deleted":    {st.Pod("o", st.OnNode("n"), st.Avoiding(st.Near(host, "web"))), st.Pod("p", web), remove},
		"the pod that it needs is created":     {st.Pod("o", st.OnNode("n")), st.Pod("p", st.Requiring(st.Near(host, "web"))), come},
		"a pod beyond the skew is deleted":     {st.Pod("o", st.OnNode("n"), web), st.Pod("p", web, st.SpreadBy(host, 1, st.AtLeast(2))), remove},
		"a pod beyond the skew is relabelled":  {st.Pod("o", st.OnNode("n"), web), st.Pod("p", web, st.SpreadBy(host, 1, st.AtLeast(2))), label},
	} {
		t.Run(name, func(t *testing.T) {
			noPreemption(tt.pod)
			tc := startCluster(t, clock.Real(), clock.NewLedger(), st.Node("n"), tt.there, tt.pod)
			tc.eventually("the pod to be refused", func(ctx context.Context) bool {
				return tc.condition(ctx, "p", corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
			})
			tt.change(tc)
			tc.eventually("the pod to be bound", tc.bound("p", "n"))
		})
	}
}
