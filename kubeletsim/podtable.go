package kubeletsim

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/lifecycle"
)

// podTable holds the pods that are bound to any node, ours or not: a node may be
// added after its pods.
type podTable struct {
	mu    sync.Mutex
	byUID map[types.UID]*podEntry
	// byNode has the pods of each node that has any. A pod stays with its node.
	byNode map[string]map[types.UID]bool
	images *imageBook
}

func newPodTable(images *imageBook) *podTable {
	return &podTable{byUID: map[types.UID]*podEntry{}, byNode: map[string]map[types.UID]bool{}, images: images}
}

// podEntry is one pod: what the API says of it, and its runtime's state.
type podEntry struct {
	// node is the one that it is bound to.
	node string

	mu     sync.Mutex
	pod    *corev1.Pod
	gone   bool
	faults []lifecycle.Occurrence
	// shown is state for those who are not its worker. goneAt is when the pod was lost.
	// changed, if somebody waits, is closed when any of this changes.
	shown   lifecycle.State
	goneAt  time.Time
	changed chan struct{}
	// files are what its containers wrote.
	files podFiles
	// images is what is told of images; stale is whether that has changed since the pod's
	// worker looked.
	images *imageBook
	stale  atomic.Bool

	// What follows belongs to the worker that has the pod's key.

	// known is whether state has begun.
	known bool
	state lifecycle.State
	// settled is the resourceVersion that the API had when all had been done about the
	// pod until wake; empty when something is left to do.
	settled string
	wake    time.Time
	// lacking is whether it misses something that it needs; deferred whether it waits for
	// resources that it asks for by now.
	lacking, deferred bool
	// returned is whether the pod's address and resources have been given back.
	returned bool
	failures int
	restoring
}

func (t *podTable) get(uid types.UID) *podEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byUID[uid]
}

func (t *podTable) remove(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byUID[uid]
	if e == nil {
		return
	}
	delete(t.byUID, uid)
	if uids := t.byNode[e.node]; len(uids) > 1 {
		delete(uids, uid)
	} else {
		delete(t.byNode, e.node)
	}
}

// observe takes note of a pod's state in the API; false if it was known already,
// as the echo of an own write is.
func (t *podTable) observe(pod *corev1.Pod) bool {
	t.mu.Lock()
	e := t.byUID[pod.UID]
	if e == nil {
		e = &podEntry{pod: pod, node: pod.Spec.NodeName, images: t.images}
		t.byUID[pod.UID] = e
		if t.byNode[e.node] == nil {
			t.byNode[e.node] = map[types.UID]bool{}
		}
		t.byNode[e.node][pod.UID] = true
		t.mu.Unlock()
		return true
	}
	t.mu.Unlock()
	return e.deliver(pod)
}

func (t *podTable) lose(pod *corev1.Pod) bool {
	e := t.get(pod.UID)
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = true
	return true
}

// all lists the pods.
func (t *podTable) all() []types.UID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.byUID))
}

// on lists the pods that are bound to a node, in an order that does not change.
func (t *podTable) on(node string) []types.UID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.byNode[node]))
}

// observe keeps the pod if it is newer than the one that is known.
func (e *podEntry) observe(pod *corev1.Pod) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone || !newer(pod.ResourceVersion, e.pod.ResourceVersion) {
		return false
	}
	e.pod = pod
	return true
}

// deliver is observe for what an informer delivers: of two equal ones its own is
// kept, which others keep too.
func (e *podEntry) deliver(pod *corev1.Pod) bool {
	if e.observe(pod) {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pod.ResourceVersion == pod.ResourceVersion {
		e.pod = pod
	}
	return false
}

// look returns the pod as it was last seen, whether it is gone, and the faults that
// have not been dealt with yet.
func (e *podEntry) look() (pod *corev1.Pod, gone bool, faults []lifecycle.Occurrence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pod, e.gone, e.faults
}

// rests reports, for the pod's worker, whether nothing but the echo of its own write has
// come since it did all that there was to do.
func (e *podEntry) rests(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.gone && len(e.faults) == 0 && e.settled != "" && e.settled == e.pod.ResourceVersion &&
		!e.lacking && !e.deferred && (e.wake.IsZero() || e.wake.After(now))
}

// shownPod is what can be seen of a pod from outside its worker. changed is closed when
// it is out of date; state must not be changed.
type shownPod struct {
	pod     *corev1.Pod
	state   lifecycle.State
	gone    bool
	goneAt  time.Time
	changed <-chan struct{}
}

func (e *podEntry) see() shownPod {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return shownPod{e.images.annotate(e.pod), e.shown, !e.goneAt.IsZero(), e.goneAt, e.changed}
}

// show lets others see what the worker has come to.
func (e *podEntry) show() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = e.state
	e.announce()
}

// showEnd lets others see that nothing runs of the pod any more.
func (e *podEntry) showEnd(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.goneAt = now
	e.announce()
}

func (e *podEntry) announce() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// holding reports, for a node that takes over the pod, whether the pod has been admitted and
// has not ended, and the address that it has; not valid if it has none of its own.
func (e *podEntry) holding() (pod *corev1.Pod, address netip.Addr, holds bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.gone:
		return nil, netip.Addr{}, false
	case !e.shown.Admitted.IsZero():
		return e.pod, e.shown.Address, !e.shown.Ended
	case lifecycle.Finished(e.pod) || e.pod.Status.StartTime == nil:
		return nil, netip.Addr{}, false
	case !e.pod.Spec.HostNetwork:
		// An address that cannot be read is one that we did not give.
		address, _ = netip.ParseAddr(e.pod.Status.PodIP)
	}
	return e.pod, address, true
}

// dealt forgets the first n faults.
func (e *podEntry) dealt(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = e.faults[n:]
}

func (e *podEntry) hit(f lifecycle.Occurrence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = append(e.faults, f)
}

// newer compares resourceVersions, which Kubernetes defines to be comparable as
// decimal numbers (KEP-5504). What is not a number is taken for newer.
func newer(version, than string) bool {
	a, errA := strconv.ParseUint(version, 10, 64)
	b, errB := strconv.ParseUint(than, 10, 64)
	if errA != nil || errB != nil {
		return true
	}
	return a > b
}
