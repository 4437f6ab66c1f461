package decide

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
)

// toDelete selects the n pods to delete, by upstream's ranking
// (https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#scaling-a-replicaset).
func toDelete(active []*corev1.Pod, crowd map[string]int, n int, now time.Time) []*corev1.Pod {
	if n >= len(active) {
		return active
	}
	ranks := make([]rank, len(active))
	for i, pod := range active {
		ranks[i] = rankOf(pod, crowd[pod.Spec.NodeName], now)
	}
	slices.SortFunc(ranks, compareRanks)
	picked := make([]*corev1.Pod, n)
	for i := range picked {
		picked[i] = ranks[i].pod
	}
	return picked
}

// rank orders pods for deletion. In every field, the smaller value goes first.
type rank struct {
	pod      *corev1.Pod
	assigned int
	phase    int
	ready    int
	cost     int32
	// crowd is negated: pods on the fullest node go first.
	crowd int
	// readyAge and age are logarithmic (base 2), so that the pods of about the same age tie
	// and not always the youngest, perhaps all in one zone, are deleted (KEP-2185).
	readyAge int
	// restarts and sidecarRestarts are negated.
	restarts, sidecarRestarts int32
	age                       int
}

func rankOf(pod *corev1.Pod, crowd int, now time.Time) rank {
	r := rank{pod: pod, cost: deletionCost(pod), crowd: -crowd}
	if pod.Spec.NodeName != "" {
		r.assigned = 1
	}
	switch pod.Status.Phase {
	case corev1.PodUnknown:
		r.phase = 1
	case corev1.PodRunning:
		r.phase = 2
	}
	if since, ready := controllerref.ReadySince(pod); ready {
		r.ready = 1
		r.readyAge = ageClass(since, now)
	}
	restarts, sidecars := maxRestarts(pod)
	r.restarts, r.sidecarRestarts = -restarts, -sidecars
	r.age = ageClass(pod.CreationTimestamp.Time, now)
	return r
}

func compareRanks(a, b rank) int {
	return cmp.Or(
		cmp.Compare(a.assigned, b.assigned),
		cmp.Compare(a.phase, b.phase),
		cmp.Compare(a.ready, b.ready),
		cmp.Compare(a.cost, b.cost),
		cmp.Compare(a.crowd, b.crowd),
		cmp.Compare(a.readyAge, b.readyAge),
		cmp.Compare(a.restarts, b.restarts),
		cmp.Compare(a.sidecarRestarts, b.sidecarRestarts),
		cmp.Compare(a.age, b.age),
		// UIDs are random, so this is a random but repeatable choice.
		cmp.Compare(a.pod.UID, b.pod.UID),
	)
}

// ageClass returns the binary logarithm of the age in nanoseconds. A zero time counts as
// the youngest.
func ageClass(since, now time.Time) int {
	if since.IsZero() {
		return -1
	}
	return bits.Len64(uint64(max(now.Sub(since), 0)))
}

// deletionCost returns the value of the pod-deletion-cost annotation; 0, the default, if it
// is not an int32.
func deletionCost(pod *corev1.Pod) int32 {
	text, ok := pod.Annotations[corev1.PodDeletionCost]
	if !ok {
		return 0
	}
	cost, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(cost)
}

// maxRestarts returns the most restarts of any container and of any sidecar, which is an
// init container that always restarts.
func maxRestarts(pod *corev1.Pod) (containers, sidecars int32) {
	for i := range pod.Status.ContainerStatuses {
		containers = max(containers, pod.Status.ContainerStatuses[i].RestartCount)
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		for j := range pod.Status.InitContainerStatuses {
			if pod.Status.InitContainerStatuses[j].Name == c.Name {
				sidecars = max(sidecars, pod.Status.InitContainerStatuses[j].RestartCount)
			}
		}
	}
	return containers, sidecars
}
