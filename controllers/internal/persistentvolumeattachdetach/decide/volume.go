package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Upstream's times.
const (
	// MaxWaitForUnmount is how long a node that is not ready may have a volume in use that no pod
	// on it uses any more.
	MaxWaitForUnmount = 6 * time.Minute
	// attachTimeout is how long the attacher of a driver may take.
	attachTimeout = 2 * time.Minute
	// The delay between failed attempts doubles from firstRetry to lastRetry.
	firstRetry = 500 * time.Millisecond
	lastRetry  = 2*time.Minute + 2*time.Second
)

// Volume is a volume of a CSI driver with the nodes that use it or to which it is attached.
type Volume struct {
	// PersistentVolume is nil if it was deleted.
	PersistentVolume *corev1.PersistentVolume
	// MayAttach is false for a volume whose claim is not bound or whose driver does not require
	// attachment: it is not attached to any further node.
	MayAttach bool
	// NoForce disables the forced detachment of a volume that a node has had in use for too long.
	NoForce bool
	// Nodes are sorted by name.
	Nodes []Node
}

// Node is a node on which pods use a volume, or to which it is attached.
type Node struct {
	Name string
	// Pods are the pods on the node that use the volume, sorted.
	Pods []*corev1.Pod
	// Attachment is the volume's attachment to the node; nil: there is none.
	Attachment *storagev1.VolumeAttachment
	// InUse means that the node may have mounted the volume.
	InUse bool
	// Ready and OutOfService are the node's condition and its taint.
	Ready, OutOfService bool
	Progress            Progress
}

// Progress carries state from earlier decisions about a volume and a node to the next one. The zero
// value means that there is nothing to wait for.
type Progress struct {
	// Unused is since when no pod on the node uses the attached volume; zero: one does.
	Unused time.Time
	// Begun is when the present attempt to attach the volume began; zero: there is none.
	Begun time.Time
	// Failures counts the attempts that failed in a row. The next one begins at Retry.
	Failures int
	Retry    time.Time
	// Blocked means that the pods have the event that the volume is attached to another node.
	Blocked bool
}

// Detach is a decision to detach a volume from a node. With Force, it is detached although the node has it in
// use.
type Detach struct {
	Node       string
	Attachment *storagev1.VolumeAttachment
	Force      bool
}

// Event is an event about a pod.
type Event struct {
	Pod                   *corev1.Pod
	Type, Reason, Message string
}

// Decision holds the actions to take for a volume.
type Decision struct {
	// Progress has the nodes whose progress is not zero.
	Progress map[string]Progress
	// Detach comes before Attach, which has the names of nodes.
	Detach []Detach
	Attach []string
	Events []Event
	// Next is the time of the next decision about the volume; zero: when something changes.
	Next time.Time
}

// Decide returns the actions to take for a volume now.
func Decide(v *Volume, now time.Time) Decision {
	d := deciding{Volume: v, now: now, Decision: Decision{Progress: map[string]Progress{}}}
	for i := range v.Nodes {
		if n := &v.Nodes[i]; len(n.Pods) == 0 && n.Attachment != nil {
			d.unused(n)
		}
	}
	for i := range v.Nodes {
		if n := &v.Nodes[i]; len(n.Pods) > 0 {
			d.wanted(n)
		}
	}
	return d.Decision
}

type deciding struct {
	*Volume
	now time.Time
	Decision
}

// keep stores the progress for the next decision.
func (d *deciding) keep(n *Node, p Progress) {
	if p != (Progress{}) {
		d.Progress[n.Name] = p
	}
}

// wake moves the next decision to at, unless it is earlier.
func (d *deciding) wake(at time.Time) {
	if d.Next.IsZero() || at.Before(d.Next) {
		d.Next = at
	}
}

// unused detaches the volume from a node without pods that use it.
func (d *deciding) unused(n *Node) {
	p := Progress{Unused: n.Progress.Unused}
	if p.Unused.IsZero() {
		p.Unused = d.now
	}
	d.keep(n, p)
	if n.Attachment.DeletionTimestamp != nil {
		return
	}
	end := p.Unused.Add(MaxWaitForUnmount)
	late := !d.NoForce && !d.now.Before(end)
	if n.InUse && !n.OutOfService && (!late || n.Ready) {
		if !late && !d.NoForce {
			d.wake(end)
		}
		return
	}
	d.Detach = append(d.Detach, Detach{Node: n.Name, Attachment: n.Attachment, Force: late || n.OutOfService})
}

// wanted attaches the volume to a node with pods that use it.
func (d *deciding) wanted(n *Node) {
	p := n.Progress
	p.Unused = time.Time{}
	switch a := n.Attachment; {
	case a != nil && a.DeletionTimestamp == nil && a.Status.Attached:
		if !p.Begun.IsZero() || p.Failures > 0 {
			d.report(n, corev1.EventTypeNormal, "SuccessfulAttachVolume", succeeded(d.PersistentVolume.Name))
		}
		return
	case d.now.Before(p.Retry):
		d.wake(p.Retry)
	case a == nil:
		p = d.absent(n, p)
	case a.DeletionTimestamp != nil:
		p = d.fail(n, p, "volume attachment is being deleted")
	case a.Status.AttachError != nil:
		p = d.fail(n, p, a.Status.AttachError.Message)
	default:
		p = d.pending(n, p)
	}
	d.keep(n, p)
}

// absent attaches the volume, unless it is attached to another node and may be attached to one only.
func (d *deciding) absent(n *Node, p Progress) Progress {
	if !d.MayAttach {
		return Progress{Blocked: p.Blocked}
	}
	if !multiAttach(d.PersistentVolume) {
		if others := d.holders(n); len(others) > 0 {
			if !p.Blocked && slices.ContainsFunc(others, d.stays) {
				p.Blocked = true
				d.multiAttachError(n, others)
			}
			return p
		}
	}
	d.Attach = append(d.Attach, n.Name)
	return Progress{Begun: d.now, Failures: p.Failures}
}

// holders returns the other nodes to which the volume is attached, or will be by this decision.
func (d *deciding) holders(n *Node) []*Node {
	var others []*Node
	for i := range d.Nodes {
		other := &d.Nodes[i]
		if other.Name != n.Name && (other.Attachment != nil || slices.Contains(d.Attach, other.Name)) {
			others = append(others, other)
		}
	}
	return others
}

// stays reports whether the volume is attached to a node and is not being detached.
func (d *deciding) stays(n *Node) bool {
	return n.Attachment != nil && n.Attachment.Status.Attached && n.Attachment.DeletionTimestamp == nil &&
		!slices.ContainsFunc(d.Detach, func(detach Detach) bool { return detach.Node == n.Name })
}

// pending waits for the attacher.
func (d *deciding) pending(n *Node, p Progress) Progress {
	if p.Begun.IsZero() {
		p.Begun = d.now
	}
	if end := p.Begun.Add(attachTimeout); d.now.Before(end) {
		d.wake(end)
		return p
	}
	source := d.PersistentVolume.Spec.CSI
	return d.fail(n, p, "timed out waiting for external-attacher of "+source.Driver+" CSI driver to attach volume "+source.VolumeHandle)
}

// fail ends an attempt to attach the volume.
func (d *deciding) fail(n *Node, p Progress, why string) Progress {
	d.report(n, corev1.EventTypeWarning, "FailedAttachVolume", failed(d.PersistentVolume.Name, why))
	p.Begun, p.Retry = time.Time{}, d.now.Add(min(firstRetry<<min(p.Failures, 10), lastRetry))
	p.Failures++
	d.wake(p.Retry)
	return p
}

// report adds an event about each pod on a node.
func (d *deciding) report(n *Node, kind, reason, message string) {
	for _, pod := range n.Pods {
		d.Events = append(d.Events, Event{pod, kind, reason, message})
	}
}

// multiAttach reports whether a volume may be attached to several nodes. Without access modes
// it is for the attacher to refuse that.
func multiAttach(volume *corev1.PersistentVolume) bool {
	modes := volume.Spec.AccessModes
	return len(modes) == 0 || slices.Contains(modes, corev1.ReadWriteMany) || slices.Contains(modes, corev1.ReadOnlyMany)
}
