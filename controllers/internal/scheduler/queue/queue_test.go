package queue

import (
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// testQueue is a queue on a virtual clock. Its pods fit on the nodes in fits.
type testQueue struct {
	*Queue
	t      *testing.T
	clock  *clock.Virtual
	ledger *clock.Ledger

	mu   sync.Mutex
	fits map[string]bool
}

func newTestQueue(t *testing.T) *testQueue {
	tq := &testQueue{t: t, ledger: clock.NewLedger(), fits: map[string]bool{}}
	tq.clock = clock.NewVirtual(time.Unix(1e9, 0), tq.ledger)
	tq.Queue = New(tq.clock, tq.ledger, Options{
		Name: "test",
		Hint: func(_ Waiting, c framework.ClusterEvent) bool {
			tq.mu.Lock()
			defer tq.mu.Unlock()
			return tq.fits[c.Node]
		},
		Ready: func(p *framework.PodInfo) bool {
			return len(p.Pod.Status.ResourceClaimStatuses) > 0 || tq.fits["claims"]
		},
	})
	t.Cleanup(func() {
		tq.Close()
		tq.clock.Close()
		if !tq.ledger.Idle() {
			t.Errorf("after close there is still in flight: %s", tq.ledger)
		}
	})
	return tq
}

func (tq *testQueue) expect(name string) *Attempt {
	tq.t.Helper()
	if tq.ledger.Idle() {
		tq.t.Fatalf("the queue has nothing to pop, want %s", name)
	}
	a := tq.Pop(tq.t.Context())
	if a.Info.Pod.Name != name {
		tq.t.Fatalf("popped %s, want %s", a.Info.Pod.Name, name)
	}
	return a
}

func (tq *testQueue) expectIdle() {
	tq.t.Helper()
	if !tq.ledger.Idle() {
		tq.t.Fatalf("in flight: %s", tq.ledger)
	}
}

func (tq *testQueue) advance(d time.Duration) {
	tq.t.Helper()
	if err := tq.clock.Advance(tq.t.Context(), d); err != nil {
		tq.t.Fatal(err)
	}
}

// expectAfter pops the pods that a timer due after d makes active. The returned
// function is called when the popped pod has been put back or done.
func (tq *testQueue) expectAfter(d time.Duration, name string) (a *Attempt, ended func()) {
	tq.t.Helper()
	advanced := make(chan error)
	go func() { advanced <- tq.clock.Advance(tq.t.Context(), d) }()
	a = tq.Pop(tq.t.Context())
	if a.Info.Pod.Name != name {
		tq.t.Fatalf("popped %s, want %s", a.Info.Pod.Name, name)
	}
	return a, func() {
		if err := <-advanced; err != nil {
			tq.t.Error(err)
		}
	}
}

func TestQueueOrder(t *testing.T) {
	tq := newTestQueue(t)
	tq.Set(st.Pod("first"))
	tq.Set(st.Pod("second"))
	tq.Set(st.Pod("important", st.Priority(1)))
	for _, name := range []string{"important", "first", "second"} {
		tq.Done(tq.expect(name))
	}
	tq.expectIdle()
}

func TestQueueWaitsForANode(t *testing.T) {
	tq := newTestQueue(t)
	tq.Set(st.Pod("p"))
	tq.Reject(tq.expect("p"))
	tq.expectIdle()
	tq.Notify(framework.ClusterEvent{Node: "a"})
	tq.expectIdle()
	tq.fits["a"] = true
	tq.Notify(framework.ClusterEvent{Node: "a"})
	tq.Done(tq.expect("p"))
	tq.expectIdle()
}

// A node that gets better while a decision rests on an older snapshot is not
// lost; one that got better before the pod was popped is of no interest.
func TestQueueRemembersWhileDeciding(t *testing.T) {
	tq := newTestQueue(t)
	tq.fits["a"] = true
	tq.Set(st.Pod("p"))
	tq.Notify(framework.ClusterEvent{Node: "a"})
	a := tq.expect("p")
	tq.Reject(a)
	tq.expectIdle()
	tq.Notify(framework.ClusterEvent{Node: "a"})
	a = tq.expect("p")
	tq.Notify(framework.ClusterEvent{Node: "a"})
	tq.Reject(a)
	a = tq.expect("p")
	for range 2 * maxInFlightEvents {
		tq.Notify(framework.ClusterEvent{Node: "b"})
	}
	tq.Reject(a)
	tq.Done(tq.expect("p"))
}

func TestQueueBackoff(t *testing.T) {
	for attempts, want := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 4: 8, 5: 10, 50: 10} {
		if got := newTestQueue(t).backoffOf(attempts); got != want*time.Second {
			t.Errorf("after %d attempts: %v, want %vs", attempts, got, int(want))
		}
	}
	tq := newTestQueue(t)
	tq.Set(st.Pod("p"))
	tq.Fail(tq.expect("p"))
	for _, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second} {
		tq.advance(delay - 1)
		tq.expectIdle()
		tq.Notify(framework.ClusterEvent{Node: "a"}) // an error's back-off is not cut short
		tq.expectIdle()
		a, ended := tq.expectAfter(1, "p")
		tq.Fail(a)
		ended()
	}
}

// Pods that are backing off let active ones go first, and go when there are none.
func TestQueueBackingOffBehindActive(t *testing.T) {
	tq := newTestQueue(t)
	tq.fits["a"] = true
	tq.Set(st.Pod("again", st.Priority(9)))
	tq.Reject(tq.expect("again"))
	tq.Notify(framework.ClusterEvent{Node: "a"})
	tq.Set(st.Pod("new"))
	tq.Done(tq.expect("new"))
	tq.Done(tq.expect("again"))
}

func TestQueueFlush(t *testing.T) {
	tq := newTestQueue(t)
	tq.Set(st.Pod("early"))
	tq.Reject(tq.expect("early"))
	tq.advance(time.Minute)
	tq.Set(st.Pod("late"))
	tq.Reject(tq.expect("late"))
	tq.advance(4*time.Minute - 1)
	tq.expectIdle()
	a, ended := tq.expectAfter(1, "early")
	tq.Done(a)
	ended()
	a, ended = tq.expectAfter(time.Minute, "late")
	tq.Done(a)
	ended()
	tq.expectIdle()
}

func TestQueueGates(t *testing.T) {
	tq := newTestQueue(t)
	gate := func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }
	tq.Set(st.Pod("p", gate))
	tq.expectIdle()
	tq.fits["a"] = true
	tq.Notify(framework.ClusterEvent{Node: "a"})
	tq.expectIdle()
	tq.Set(st.Pod("p", func(p *corev1.Pod) { p.ResourceVersion = "2" }))
	tq.Done(tq.expect("p"))
}

// TestQueueWaitsForResourceClaims adds a pod whose claims do not exist: an event of one of them, or
// the pod's status, makes it ready.
func TestQueueWaitsForResourceClaims(t *testing.T) {
	withClaim := func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }
	event := framework.ClusterEvent{ResourceClaim: types.NamespacedName{Namespace: "default", Name: "c"}}
	tq := newTestQueue(t)
	tq.Set(st.Pod("p", withClaim))
	tq.Notify(event)
	tq.Notify(framework.ClusterEvent{Node: "a"})
	tq.expectIdle()
	tq.fits["claims"] = true
	tq.expectIdle()
	tq.Notify(event)
	tq.Reject(tq.expect("p"))
	tq.fits["claims"], tq.fits[""] = false, true
	tq.Notify(event) // it had its claims when it was rejected
	a, ended := tq.expectAfter(time.Second, "p")
	tq.Reject(a) // they are gone
	ended()
	tq.Notify(event)
	tq.expectIdle()
	tq.Set(st.Pod("p", withClaim, func(p *corev1.Pod) {
		p.ResourceVersion, p.Status.ResourceClaimStatuses = "9", []corev1.PodResourceClaimStatus{{Name: "gpu"}}
	}))
	a, ended = tq.expectAfter(2*time.Second, "p")
	tq.Done(a)
	ended()
	tq.expectIdle()
}

func TestQueueChangedPod(t *testing.T) {
	changed := func(p *corev1.Pod) { p.ResourceVersion = "2"; p.Spec.NodeSelector = map[string]string{"a": "b"} }
	status := func(p *corev1.Pod) { p.ResourceVersion = "2"; p.Status.Reason = "x" }
	t.Run("waiting", func(t *testing.T) {
		tq := newTestQueue(t)
		tq.Set(st.Pod("p"))
		tq.Reject(tq.expect("p"))
		tq.Set(st.Pod("p", status))
		tq.expectIdle()
		tq.Set(st.Pod("p", changed, func(p *corev1.Pod) { p.ResourceVersion = "3" }))
		tq.Done(tq.expect("p"))
	})
	t.Run("while deciding", func(t *testing.T) {
		tq := newTestQueue(t)
		tq.Set(st.Pod("p"))
		a := tq.expect("p")
		tq.Set(st.Pod("p", changed))
		tq.Reject(a)
		a = tq.expect("p")
		if a.Info.Pod.ResourceVersion != "2" {
			t.Error("popped the old state")
		}
		tq.Done(a)
	})
	t.Run("deleted while deciding", func(t *testing.T) {
		tq := newTestQueue(t)
		tq.Set(st.Pod("p"))
		a := tq.expect("p")
		tq.Remove("uid-p")
		tq.Reject(a)
		tq.expectIdle()
		tq.Set(st.Pod("p"))
		a = tq.expect("p")
		tq.Remove("uid-p")
		tq.Fail(a)
		tq.advance(time.Hour)
		tq.expectIdle()
	})
	t.Run("deleted while failing", func(t *testing.T) {
		tq := newTestQueue(t)
		tq.Set(st.Pod("p"))
		tq.Fail(tq.expect("p"))
		tq.Remove("uid-p")
		tq.advance(time.Hour)
		tq.expectIdle()
	})
}

// Pods of one instant are taken by name, whichever event came first.
func TestQueueOrderWithinAnInstant(t *testing.T) {
	tq := newTestQueue(t)
	for _, name := range []string{"c", "a", "b"} {
		tq.Set(st.Pod(name))
	}
	tq.Set(st.Pod("z", st.InNamespace("another")))
	for _, name := range []string{"z", "a", "b", "c"} {
		tq.Done(tq.expect(name))
	}
}
