package kubeletsim

import (
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// restorePeriod is the time between two comparisons of pods' statuses with the API's. Upstream's
// kubelet writes at once what has changed on its side, and compares every ten seconds whether
// another client has changed a status. Restoring at once would hide what clients write, and loop
// with a controller that marks the pods of a node it considers dead.
const restorePeriod = 10 * time.Second

// restoring tracks statuses that other clients change.
type restoring struct {
	// writtenDigest is the digest of the status that was written last, 0 before; wantedDigest
	// of the one to write.
	writtenDigest, wantedDigest uint64
	// due is when a status is restored; zero: nothing is to be restored.
	due time.Time
}

// mustWait reports whether the status has to be written later, because only the API's side has
// changed.
func (r *restoring) mustWait(status *corev1.PodStatus, now time.Time) bool {
	due := r.due
	r.due, r.wantedDigest = time.Time{}, digest(status)
	if r.writtenDigest == 0 || r.wantedDigest != r.writtenDigest {
		return false
	}
	if due.IsZero() {
		due = now.Truncate(restorePeriod).Add(restorePeriod)
	}
	if !due.After(now) {
		return false
	}
	r.due = due
	return true
}

// recordWrite records that the status of the last mustWait was written.
func (r *restoring) recordWrite() { r.writtenDigest = r.wantedDigest }

// sameContainers reports whether statuses differ in conditions and details of the pod only.
func sameContainers(a, b *corev1.PodStatus) bool {
	return a.Phase == b.Phase && equality.Semantic.DeepEqual(a.ContainerStatuses, b.ContainerStatuses) && equality.Semantic.DeepEqual(a.InitContainerStatuses, b.InitContainerStatuses)
}

// digest hashes a status without its times, and without conditions of other components.
func digest(status *corev1.PodStatus) uint64 {
	timeless := *status
	timeless.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c corev1.PodCondition) bool { return !lifecycle.OwnCondition(c.Type) })
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
