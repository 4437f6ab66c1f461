package deployment

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/internal/loop"
)

// running has the names of the pods of one ReplicaSet that have not ended.
type running sets.Set[types.NamespacedName]

// replicaSetOfRunning returns the UID of the controller of a pod that has not ended.
func replicaSetOfRunning(pod *corev1.Pod) string {
	if controllerref.Ended(pod) {
		return ""
	}
	return string(controllerref.ControllerUID(pod))
}

// Set implements tally.Account.
func (r running) Set(pod *corev1.Pod) { sets.Set[types.NamespacedName](r).Insert(loop.KeyOf(pod)) }

// Unset implements tally.Account.
func (r running) Unset(key types.NamespacedName) { delete(r, key) }

// Len implements tally.Account.
func (r running) Len() int { return len(r) }
