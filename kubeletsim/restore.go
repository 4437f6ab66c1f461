package kubeletsim

import (
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restorePeriod is the shortest time between two writes that restore a status which another
// client changed. Upstream's kubelet compares statuses periodically too. Restoring at once
// would loop with a controller that marks the pods of a node it considers dead.
const restorePeriod = 10 * time.Second

// restoring tracks statuses that other clients change.
type restoring struct {
	// writtenDigest is the digest of the status that was written last, 0 before; wantedDigest
	// of the one to write.
	writtenDigest, wantedDigest uint64
	// last is when a status was last restored, and due when it is restored next; zero: nothing
	// is to be restored.
	last, due time.Time
}

// mustWait reports whether the status has to be written later, because only the API's side has
// changed.
func (r *restoring) mustWait(status *corev1.PodStatus, now time.Time) bool {
	r.due, r.wantedDigest = time.Time{}, digest(status)
	if r.writtenDigest == 0 || r.wantedDigest != r.writtenDigest {
		return false
	}
	if due := r.last.Add(restorePeriod); !r.last.IsZero() && due.After(now) {
		r.due = due
		return true
	}
	r.last = now
	return false
}

// recordWrite records that the status of the last mustWait was written.
func (r *restoring) recordWrite() { r.writtenDigest = r.wantedDigest }

// digest hashes a status without its times.
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
		return 0 // a status that cannot be compared is written at once
	}
	h := fnv.New64a()
	_, _ = h.Write(data) // never fails
	return h.Sum64()
}
