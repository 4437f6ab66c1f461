package containers

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// Pod is a pod as its kubelet keeps it, for the pod's containers.
type Pod interface {
	// See returns the latest snapshot.
	See() Shown
	// Occur passes an occurrence to the pod's worker, which handles it in its next sync.
	Occur(lifecycle.Occurrence)
	// Files returns the files and processes of the pod's containers.
	Files() *Files
}

// Shown is a snapshot of a pod for readers other than its worker. State must not be modified.
// Changed is closed when the snapshot is out of date.
type Shown struct {
	Pod   *corev1.Pod
	State lifecycle.State
	// Gone means that the pod was deleted, at GoneAt, and nothing of it runs.
	Gone    bool
	GoneAt  time.Time
	Changed <-chan struct{}
}

// runs reports whether a container runs.
func (s *Shown) runs(name string) bool { return s.RunOf(name) != "" }

// RunOf returns the container ID of the present run; empty if there is none.
func (s *Shown) RunOf(name string) string {
	if s.Gone {
		return ""
	}
	for i := range s.State.Containers {
		if c := &s.State.Containers[i]; c.Name == name && c.Phase == lifecycle.Running {
			return lifecycle.ContainerID(podspec.RuntimeUID(s.Pod), name, c.Restarts)
		}
	}
	return ""
}
