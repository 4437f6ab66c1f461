package capacity

import (
	"cmp"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/reasons"
)

// watcher follows a fork: the time of the last change that matters for the answer, and how long and
// why pods have waited.
type watcher struct {
	stop func()

	mu   sync.Mutex
	last time.Time
	pods map[types.UID]*podHistory
	// warnings are the newest warnings about pods. The first cause of a wait is a volume, if any is.
	warnings map[types.UID]*corev1.Event
}

// podHistory records the life of a pod.
type podHistory struct {
	pod     *corev1.Pod
	created time.Time
	// ready is when the pod got ready or ended; zero: it is not.
	ready time.Time
	// reason is the last reason for which it waited.
	reason string
	gone   bool
}

func watch(cluster *minikcm.Cluster) *watcher {
	w := &watcher{pods: map[types.UID]*podHistory{}, warnings: map[types.UID]*corev1.Event{}}
	w.stop = cluster.Writes().ObserveObjects(w.recordWrite)
	return w
}

// begin adds the pods that were there before the watcher.
func (w *watcher) begin(pods []corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range pods {
		if pod := &pods[i]; w.pods[pod.UID] == nil {
			w.pods[pod.UID] = &podHistory{pod: pod}
		}
	}
}

// recordWrite records a write.
func (w *watcher) recordWrite(write *minikcm.Write, old, obj runtime.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch obj := obj.(type) {
	case *corev1.Event:
		w.recordWarning(obj)
		return
	case *corev1.Pod:
		w.recordPod(write, obj)
	}
	if matters(write, old, obj) {
		w.last = write.Time
	}
}

// recordWarning keeps the warnings about pods. A failed attachment explains the later failures to mount.
func (w *watcher) recordWarning(event *corev1.Event) {
	about := event.InvolvedObject
	if event.Type != corev1.EventTypeWarning || about.Kind != "Pod" {
		return
	}
	if known := w.warnings[about.UID]; known == nil || known.Reason != attachFailed {
		w.warnings[about.UID] = event
	}
}

const attachFailed = "FailedAttachVolume"

func (w *watcher) recordPod(write *minikcm.Write, pod *corev1.Pod) {
	h := w.pods[pod.UID]
	if write.Effect == minikcm.Removed {
		if h != nil {
			h.pod, h.gone = pod, true
		}
		return
	}
	if h == nil {
		h = &podHistory{created: write.Time}
		w.pods[pod.UID] = h
	}
	h.pod = pod
	if h.ready.IsZero() && (isReady(pod) || ended(pod)) {
		h.ready = write.Time
	}
	if pending(pod) {
		if reason := unscheduled(pod); reason != "" {
			h.reason = reason
		}
	}
}

// disturb records a change that the question makes.
func (w *watcher) disturb(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = at
}

// since returns the time of the last change that matters.
func (w *watcher) since() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// warning returns the warning that explains why a pod with a node does not start; nil: there is none.
func (w *watcher) warning(pod types.UID) *reasons.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	event := w.warnings[pod]
	if event == nil {
		return nil
	}
	e := reasons.EventOf(event, 0)
	return &e
}

// histories returns the histories of the pods that were created since a time, sorted by their names.
func (w *watcher) histories(since time.Time) []podHistory {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []podHistory
	for _, h := range w.pods {
		if !h.created.Before(since) {
			all = append(all, *h)
		}
	}
	slices.SortFunc(all, func(a, b podHistory) int {
		return cmp.Or(byName(a.pod, b.pod), a.created.Compare(b.created))
	})
	return all
}

// matters reports whether a write may change the answer. Heartbeats, events, and the restarts of
// containers of pods that do not get ready do not.
func matters(w *minikcm.Write, old, obj runtime.Object) bool {
	switch obj := obj.(type) {
	case *corev1.Pod:
		was, _ := old.(*corev1.Pod)
		return w.Effect != minikcm.Changed || was == nil || stateOf(was) != stateOf(obj)
	case *corev1.Node:
		was, _ := old.(*corev1.Node)
		return w.Effect != minikcm.Changed || was == nil || !sameNode(was, obj)
	case *policyv1.PodDisruptionBudget:
		was, _ := old.(*policyv1.PodDisruptionBudget)
		return was == nil || was.Status.DisruptionsAllowed != obj.Status.DisruptionsAllowed
	case *corev1.PersistentVolumeClaim:
		was, _ := old.(*corev1.PersistentVolumeClaim)
		return was == nil || was.Status.Phase != obj.Status.Phase
	case *storagev1.VolumeAttachment:
		was, _ := old.(*storagev1.VolumeAttachment)
		return w.Effect != minikcm.Changed || was == nil || was.Status.Attached != obj.Status.Attached
	}
	if !slices.Contains([]string{"apps", "batch"}, w.Resource.Group) && w.Resource.Resource != "replicationcontrollers" {
		return false
	}
	was, is := metaOf(old), metaOf(obj)
	return w.Effect != minikcm.Changed || was == nil || is == nil || was.GetGeneration() != is.GetGeneration()
}

func metaOf(obj runtime.Object) metav1.Object {
	if obj == nil {
		return nil
	}
	meta, _ := obj.(metav1.Object)
	return meta
}

// podState is the part of a pod whose changes matter for the answer.
type podState struct {
	node            string
	phase           corev1.PodPhase
	ready, deleting bool
}

func stateOf(pod *corev1.Pod) podState {
	return podState{pod.Spec.NodeName, pod.Status.Phase, isReady(pod), pod.DeletionTimestamp != nil}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func sameNode(a, b *corev1.Node) bool {
	return a.Spec.Unschedulable == b.Spec.Unschedulable && nodeReady(a) == nodeReady(b) &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(x, y corev1.Taint) bool { return x.MatchTaint(&y) && x.Value == y.Value })
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
