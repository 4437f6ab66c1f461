package staticpods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/podspec"
)

// Action is a request that a kubelet sends about a mirror pod: exactly one of the fields Create
// and Delete is set.
type Action struct {
	Create *corev1.Pod
	// Delete is removed at once if Now is set, since its containers go on. Otherwise they are stopped
	// first, within the pod's grace period.
	Delete *corev1.Pod
	Now    bool
}

// Decide returns the actions that turn the existing mirror pods on a node into the wanted ones. Of
// two wanted pods with one name, the first counts. A mirror pod of a manifest that has changed is
// replaced once its containers have stopped; one that a client deletes is replaced at once.
func Decide(wanted, existing []*corev1.Pod) []Action {
	hashes := map[types.NamespacedName]string{}
	for _, pod := range slices.Backward(wanted) {
		hashes[nameOf(pod)] = podspec.MirrorHash(pod)
	}
	var actions []Action
	exists := map[types.NamespacedName]bool{}
	for _, pod := range existing {
		name := nameOf(pod)
		exists[name] = true
		hash, named := hashes[name]
		stays := named && hash == podspec.MirrorHash(pod)
		if terminating := pod.DeletionTimestamp != nil; stays == terminating {
			actions = append(actions, Action{Delete: pod, Now: stays})
		}
	}
	for _, pod := range wanted {
		if name := nameOf(pod); !exists[name] {
			exists[name] = true
			actions = append(actions, Action{Create: pod})
		}
	}
	return actions
}

func nameOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}
