package containers

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/traffic"
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

// accepts reports whether a container runs and takes connections: one that finishes what it has at SIGTERM (traffic.Annotation) takes none
// from then on.
func (s *Shown) accepts(name string) bool {
	if !s.Signalled(name) {
		return s.runs(name)
	}
	profile, _ := traffic.ProfileOf(s.Pod, name) // an event says what is wrong with it
	return !profile.Finishes
}

// RunOf returns the container ID of the present run; empty if there is none.
func (s *Shown) RunOf(name string) string {
	if c := s.running(name); c != nil {
		return lifecycle.ContainerID(podspec.RuntimeUID(s.Pod), name, c.Restarts)
	}
	return ""
}

// Began returns when the present run of a container began; zero if there is none.
func (s *Shown) Began(name string) time.Time {
	if c := s.running(name); c != nil {
		return c.Began()
	}
	return time.Time{}
}

// Signalled reports whether a container that runs has got the signal to terminate.
func (s *Shown) Signalled(name string) bool {
	c := s.running(name)
	return c != nil && c.Signalled()
}

// running returns a container that runs; nil: it does not.
func (s *Shown) running(name string) *lifecycle.Container {
	if s.Gone {
		return nil
	}
	for i := range s.State.Containers {
		if c := &s.State.Containers[i]; c.Name == name && c.Phase == lifecycle.Running {
			return c
		}
	}
	return nil
}
