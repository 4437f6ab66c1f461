package kubeletsim

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/internal/containers"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// podTable holds the pods that are bound to any node, simulated or not: a node may be added
// after its pods.
type podTable struct {
	mu    sync.Mutex
	byUID map[types.UID]*podEntry
	// byNode has the pods of each node. A pod never changes its node.
	byNode map[string]map[types.UID]bool
	images *images.Profiles
	// sync queues a pod.
	sync func(types.UID)
	// followers are called after changes of what is shown of any pod, by their numbers.
	followers map[int]func()
	last      int
	// lost are the pods that were deleted since expectList; nil if no list is under way.
	lost map[types.UID]bool
}

func newPodTable(images *images.Profiles, sync func(types.UID)) *podTable {
	return &podTable{byUID: map[types.UID]*podEntry{}, byNode: map[string]map[types.UID]bool{}, images: images, sync: sync}
}

// follow calls changed after each step of any pod, until ctx ends. Calls may overlap.
func (t *podTable) follow(ctx context.Context, changed func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.followers == nil {
		t.followers = map[int]func(){}
	}
	t.last++
	id := t.last
	t.followers[id] = changed
	context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.followers, id)
	})
}

// stepped calls the followers.
func (t *podTable) stepped() {
	t.mu.Lock()
	var all []func()
	for _, id := range slices.Sorted(maps.Keys(t.followers)) {
		all = append(all, t.followers[id])
	}
	t.mu.Unlock()
	for _, changed := range all {
		changed()
	}
}

// newEntry returns an entry, which is not in the table, of a pod whose runtime is unknown.
func (t *podTable) newEntry(pod *corev1.Pod) *podEntry {
	return &podEntry{pod: pod, node: pod.Spec.NodeName, images: t.images, sync: t.sync}
}

// podEntry is one pod: its object in the API and the state of its runtime. Informers, faults and other readers
// use the fields under mu. The worker that has the pod's key is the only one that takes steps:
//
//	time   the informer's goroutine     the worker with the pod's key             others
//	10:00  pod at revision 7:
//	       observe, Offer
//	                                    look: revision 7. Step: a sandbox, until
//	                                    10:02. UpdateStatus: revision 8; observe
//	       revision 8 is known: an
//	       echo, nothing is queued
//	                                    settled = 8; an alarm at 10:02
//	10:02                                                                         the alarm: Add
//	                                    look: revision 8, and wake has come.
//	                                    Step: containers run. Revision 9
//	10:05                                                                         CrashContainer: occur, Add
//	                                    look: 1 occurrence. Step: a container
//	10:05                               has ended ...                             OOMKillContainer: occur, Add
//	                                    ... dropOccurrences(1): the second stays,
//	                                    and its Add gives the key one more round
//
// If the informer delivers revision 8 before the worker has the response to UpdateStatus, the worker still has
// the key: Offer records it, and Done finds that the pod is settled at revision 8. Either way the echo is no step.
type podEntry struct {
	// node is the name of the pod's node.
	node string

	mu          sync.Mutex
	pod         *corev1.Pod
	gone        bool
	occurrences []lifecycle.Occurrence
	staged      staged
	// shown is the copy of state for readers other than the pod's worker. goneAt is when the
	// pod was deleted. changed is closed when any of these changes; nil if no reader waits.
	shown   lifecycle.State
	goneAt  time.Time
	changed chan struct{}
	// files are the files and processes of its containers.
	files containers.Files
	// sync queues a pod.
	sync func(types.UID)
	// images are the image profiles. stale means that they have changed since the worker
	// looked.
	images *images.Profiles
	stale  atomic.Bool
	// seen is pod with the annotations of its images at the change seenAt of these, for readers; it is of the pod seenOf. Nil: there
	// was no reader since the last sync.
	seen, seenOf *corev1.Pod
	seenAt       uint64
	// stores means that the pod's containers have written files, and it has limits for that.
	stores atomic.Bool

	// The following fields belong to the worker that holds the pod's key.

	// known means that state is initialized.
	known bool
	state lifecycle.State
	// observed has the facts of the pod, or of the pod that it replaces, in another cluster; nil: none.
	observed *lifecycle.Observation
	// settled is the resourceVersion at which nothing was left to do until wake; empty if
	// something is.
	settled string
	wake    time.Time
	// lacking means that a needed ConfigMap or Secret is missing, deferred that a resize does
	// not fit.
	lacking, deferred bool
	// assumed are the Secrets that are assumed to exist.
	assumed map[string]bool
	// released means that the pod's resources have been released, returned that its address
	// has.
	released, returned bool
	// usageDigest is a digest of the inputs of the pod's usage, if its node has counted
	// it; 0 if nothing runs.
	usageDigest uint64
	// watched means that changes of the pod's files queue its node.
	watched bool
	// volumes are the attachable volumes among those that resolved has, by their names in the pod.
	volumes  []attachable
	resolved map[string]bool
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

// observe records the pod's object and reports whether it is newer than the known one. The echo
// of an own write is not.
func (t *podTable) observe(pod *corev1.Pod) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.byUID[pod.UID]; e != nil {
		return e.deliver(pod) // under the lock, or renew may copy the object before
	}
	t.addLocked(pod)
	return true
}

// lose marks a pod as deleted.
func (t *podTable) lose(pod *corev1.Pod) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost != nil {
		t.lost[pod.UID] = true
	}
	e := t.byUID[pod.UID]
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

// on returns the pods that are bound to a node, sorted.
func (t *podTable) on(node string) []types.UID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.byNode[node]))
}

// observe keeps the object if it is newer than the known one.
func (e *podEntry) observe(pod *corev1.Pod) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone || !newer(pod.ResourceVersion, e.pod.ResourceVersion) {
		return false
	}
	e.pod = pod
	return true
}

// deliver is observe for objects from an informer. Of two equal objects it keeps the
// informer's, which other readers share.
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

// look returns the latest object, whether the pod was deleted, and the occurrences that have
// not been handled yet.
func (e *podEntry) look() (pod *corev1.Pod, gone bool, occurrences []lifecycle.Occurrence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pod, e.gone, e.occurrences
}

// upToDate reports, for the pod's worker, whether only the echo of its own write has arrived since
// it finished.
func (e *podEntry) upToDate(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.gone && len(e.occurrences) == 0 && e.settled != "" && e.settled == e.pod.ResourceVersion &&
		!e.lacking && !e.deferred && (e.wake.IsZero() || e.wake.After(now))
}

// isNew reports whether no step has been taken with the pod.
func (e *podEntry) isNew() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shown.Admitted.IsZero()
}

// show publishes the worker's state.
func (e *podEntry) show() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = e.state
	e.announce()
}

// showEnd publishes that the pod was deleted and nothing of it runs.
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

// allocation returns, for a node that takes over the pod, the pod's address, and whether the pod is admitted and has
// not ended. The address is not valid if the pod has none of its own.
func (e *podEntry) allocation() (pod *corev1.Pod, address netip.Addr, holds bool) {
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
		// An unparsable address was not assigned by the simulation.
		address, _ = netip.ParseAddr(e.pod.Status.PodIP)
	}
	return e.pod, address, true
}

// dropOccurrences drops the first n occurrences, which have been handled.
func (e *podEntry) dropOccurrences(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.occurrences = e.occurrences[n:]
}

func (e *podEntry) occur(f lifecycle.Occurrence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.occurrences = append(e.occurrences, f)
}

// newer compares resourceVersions, which are comparable decimal numbers (KEP-5504). Any other
// string counts as newer.
func newer(version, than string) bool {
	a, errA := strconv.ParseUint(version, 10, 64)
	b, errB := strconv.ParseUint(than, 10, 64)
	if errA != nil || errB != nil {
		return true
	}
	return a > b
}
