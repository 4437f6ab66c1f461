package kubeletsim

import (
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restorePeriod is how often a status is written again that somebody else has changed,
// as the kubelet does when it compares them every so often: were it done at once each
// time, it would argue without end with a controller that holds the pod's node for dead.
const restorePeriod = 10 * time.Second

// restoring is what a worker knows of the statuses that others change.
type restoring struct {
	// said is a digest of what the API was told last, 0 before; wanted of what it is to be
	// told.
	said, wanted uint64
	// last is when it was told again what it had been told before, and due when it will
	// be told once more; zero: there is nothing to tell.
	last, due time.Time
}

// mustWait says whether a status that differs from the API's is to be told later, as
// nothing but the API's side of it has changed.
func (r *restoring) mustWait(status *corev1.PodStatus, now time.Time) bool {
	r.due, r.wanted = time.Time{}, digest(status)
	if r.said == 0 || r.wanted != r.said {
		return false
	}
	if due := r.last.Add(restorePeriod); !r.last.IsZero() && due.After(now) {
		r.due = due
		return true
	}
	r.last = now
	return false
}

// told takes note that the API was told what mustWait was asked about last.
func (r *restoring) told() { r.said = r.wanted }

// digest is of all that a status says but for when it came to that.
func digest(status *corev1.PodStatus) uint64 {
	timeless := *status
	timeless.Conditions = slices.Clone(status.Conditions)
	for i := range timeless.Conditions {
		timeless.Conditions[i].LastTransitionTime, timeless.Conditions[i].LastProbeTime = metav1.Time{}, metav1.Time{}
	}
	slices.SortFunc(timeless.Conditions, func(a, b corev1.PodCondition) int {
		if a.Type < b.Type {
			return -1
		}
		return 1
	})
	data, err := timeless.Marshal()
	if err != nil {
		return 0 // what cannot be told apart is told at once
	}
	h := fnv.New64a()
	_, _ = h.Write(data) // never fails
	return h.Sum64()
}
