package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// AnnotationReadyDelay of a Node is how long after its creation the network of its machine is
// ready, as a duration such as 30s, or "never". Until then the Node is not Ready, and its pods get
// no addresses.
const AnnotationReadyDelay = podspec.AnnotationReadyDelay

// ReadyDelay returns the delay that a Node's annotations state; 0 if they state none. It fails if
// the annotation is invalid.
func ReadyDelay(annotations map[string]string) (time.Duration, error) {
	text, stated := annotations[AnnotationReadyDelay]
	if !stated {
		return 0, nil
	}
	delay, err := podspec.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("annotation %s: %w", AnnotationReadyDelay, err)
	}
	return delay, nil
}

// IsDelayed reports whether a Node is Ready only some time after its creation.
func IsDelayed(object *corev1.Node) bool {
	delay, _ := ReadyDelay(object.Annotations)
	return delay > 0
}

// readyAt returns when the network of a Node's machine is ready; the zero time if it is from the
// beginning.
func readyAt(annotations map[string]string, created time.Time) time.Time {
	delay, err := ReadyDelay(annotations)
	if err != nil || delay == 0 {
		return time.Time{}
	}
	return created.Add(delay)
}

// BeginStart sets when the network of the machine is ready, which has the given Node, or nil for
// one that is created now.
func (n *Node) BeginStart(object *corev1.Node, now time.Time) {
	at := readyAt(n.spec.Annotations, now)
	if object != nil {
		at = readyAt(object.Annotations, object.CreationTimestamp.Time)
	}
	if !now.Before(at) {
		at = time.Time{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.networkAt = at
}

// NetworkAt returns when the network of the node's machine will be ready; the zero time if it is.
func (n *Node) NetworkAt() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.networkAt
}

// TakeNetwork makes the network of the node's machine ready if it is time. It returns whether it
// did.
func (n *Node) TakeNetwork(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.networkAt.IsZero() || now.Before(n.networkAt) {
		return false
	}
	n.networkAt = time.Time{}
	return true
}
