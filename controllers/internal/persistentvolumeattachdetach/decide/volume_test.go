package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Unix(1_000_000, 0)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func volume(modes ...corev1.PersistentVolumeAccessMode) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
		AccessModes:            modes,
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d.io", VolumeHandle: "h"}},
	}}
}

func pods(keys ...string) []*corev1.Pod {
	var all []*corev1.Pod
	for _, key := range keys {
		namespace, name, _ := strings.Cut(key, "/")
		all = append(all, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	return all
}

// attachment returns an attachment that is "attached", "pending", "deleting" or has failed with
// another text.
func attachment(state string) *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{}
	switch state {
	case "attached":
		a.Status.Attached = true
	case "deleting":
		a.Status.Attached, a.DeletionTimestamp = true, &metav1.Time{Time: now}
	case "pending":
	default:
		a.Status.AttachError = &storagev1.VolumeError{Message: state}
	}
	return a
}

// describe returns a decision in lines.
func describe(d Decision) string {
	var lines []string
	for _, detach := range d.Detach {
		lines = append(lines, fmt.Sprintf("detach %s, force %v", detach.Node, detach.Force))
	}
	for _, node := range d.Attach {
		lines = append(lines, "attach "+node)
	}
	for _, e := range d.Events {
		lines = append(lines, fmt.Sprintf("%s/%s: %s %s %s", e.Pod.Namespace, e.Pod.Name, e.Type, e.Reason, e.Message))
	}
	for _, node := range slices.Sorted(maps.Keys(d.Progress)) {
		p, text := d.Progress[node], "progress "+node
		if !p.Unused.IsZero() {
			text += fmt.Sprintf(" unused for %s", now.Sub(p.Unused))
		}
		if !p.Begun.IsZero() {
			text += fmt.Sprintf(" begun %s ago", now.Sub(p.Begun))
		}
		if p.Failures > 0 {
			text += fmt.Sprintf(" %d failures, retry in %s", p.Failures, p.Retry.Sub(now))
		}
		if p.Blocked {
			text += " blocked"
		}
		lines = append(lines, text)
	}
	if !d.Next.IsZero() {
		lines = append(lines, "next in "+d.Next.Sub(now).String())
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(strings.Split(a, " ")[0], strings.Split(b, " ")[0])
	})
	return strings.Join(lines, "\n")
}

func TestDecide(t *testing.T) {
	t.Parallel()
	rwo, rwx := volume(corev1.ReadWriteOnce), volume(corev1.ReadWriteMany)
	attached, pending, deleting := attachment("attached"), attachment("pending"), attachment("deleting")
	const multi = `Warning FailedAttachVolume Multi-Attach error for volume "v" Volume is already `
	for name, tt := range map[string]struct {
		v    Volume
		want string
	}{
		"nothing to do": {Volume{PersistentVolume: rwo, MayAttach: true, Nodes: []Node{{Name: "a", Pods: pods("n/p"), Attachment: attached, InUse: true}}}, ""},
		"a new pod": {
			Volume{PersistentVolume: rwo, MayAttach: true, Nodes: []Node{{Name: "a", Pods: pods("n/p")}}},
			"attach a\nprogress a begun 0s ago",
		},
		"no claim yet": {Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Pods: pods("n/p")}}}, ""},
		"waiting": {
			Volume{PersistentVolume: rwo, MayAttach: true, Nodes: []Node{{Name: "a", Pods: pods("n/p"), Attachment: pending, Progress: Progress{Begun: ago(time.Minute)}}}},
			"next in 1m0s\nprogress a begun 1m0s ago",
		},
		"attached now": {
			Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Pods: pods("n/p", "n/q"), Attachment: attached, Progress: Progress{Begun: ago(1)}}}},
			"n/p: Normal SuccessfulAttachVolume AttachVolume.Attach succeeded for volume \"v\" \nn/q: Normal SuccessfulAttachVolume AttachVolume.Attach succeeded for volume \"v\" ",
		},
		"too slow": {
			Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Pods: pods("n/p"), Attachment: pending, Progress: Progress{Begun: ago(2 * time.Minute)}}}},
			"n/p: Warning FailedAttachVolume AttachVolume.Attach failed for volume \"v\" : timed out waiting for external-attacher of d.io CSI driver to attach volume h\n" +
				"next in 500ms\nprogress a 1 failures, retry in 500ms",
		},
		"failed": {
			Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Pods: pods("n/p"), Attachment: attachment("no space"), Progress: Progress{Failures: 9, Retry: now}}}},
			"n/p: Warning FailedAttachVolume AttachVolume.Attach failed for volume \"v\" : no space\nnext in 2m2s\nprogress a 10 failures, retry in 2m2s",
		},
		"failed before": {
			Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Pods: pods("n/p"), Attachment: attachment("no space"), Progress: Progress{Failures: 1, Retry: now.Add(time.Second)}}}},
			"next in 1s\nprogress a 1 failures, retry in 1s",
		},
		"being deleted by someone": {
			Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Pods: pods("n/p"), Attachment: deleting}}},
			"n/p: Warning FailedAttachVolume AttachVolume.Attach failed for volume \"v\" : volume attachment is being deleted\nnext in 500ms\nprogress a 1 failures, retry in 500ms",
		},
		"two nodes at once": {
			Volume{PersistentVolume: rwo, MayAttach: true, Nodes: []Node{{Name: "a", Pods: pods("n/p")}, {Name: "b", Pods: pods("n/q")}}},
			"attach a\nprogress a begun 0s ago",
		},
		"two nodes of a shared volume": {
			Volume{PersistentVolume: rwx, MayAttach: true, Nodes: []Node{{Name: "a", Pods: pods("n/p"), Attachment: attached}, {Name: "b", Pods: pods("n/q")}}},
			"attach b\nprogress b begun 0s ago",
		},
		"used on another node": {
			Volume{PersistentVolume: rwo, MayAttach: true, Nodes: []Node{{Name: "a", Pods: pods("n/p", "m/x"), Attachment: attached}, {Name: "b", Pods: pods("n/q", "o/q")}}},
			"n/q: " + multi + "used by pod(s) p and 1 pod(s) in different namespaces\no/q: " + multi + "used by 2 pod(s) in different namespaces\nprogress b blocked",
		},
		"reported before": {
			Volume{PersistentVolume: rwo, MayAttach: true, Nodes: []Node{{Name: "a", Pods: pods("n/p"), Attachment: attached}, {Name: "b", Pods: pods("n/q"), Progress: Progress{Blocked: true}}}},
			"progress b blocked",
		},
		"moved away, in use": {
			Volume{PersistentVolume: rwo, MayAttach: true, Nodes: []Node{{Name: "a", Attachment: attached, InUse: true}, {Name: "b", Pods: pods("n/q")}}},
			"n/q: " + multi + "exclusively attached to one node and can't be attached to another\nnext in 6m0s\nprogress a unused for 0s\nprogress b blocked",
		},
		"moved away": {
			Volume{PersistentVolume: rwo, MayAttach: true, Nodes: []Node{{Name: "a", Attachment: attached}, {Name: "b", Pods: pods("n/q")}}},
			"detach a, force false\nprogress a unused for 0s",
		},
		"leaving": {
			Volume{PersistentVolume: rwo, MayAttach: true, Nodes: []Node{{Name: "a", Attachment: deleting}, {Name: "b", Pods: pods("n/q")}}},
			"progress a unused for 0s",
		},
		"in use on a healthy node": {
			Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Attachment: attached, InUse: true, Ready: true, Progress: Progress{Unused: ago(time.Hour)}}}},
			"progress a unused for 1h0m0s",
		},
		"in use on a lost node": {
			Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Attachment: attached, InUse: true, Progress: Progress{Unused: ago(5 * time.Minute)}}}},
			"next in 1m0s\nprogress a unused for 5m0s",
		},
		"in use on a lost node for too long": {
			Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Attachment: attached, InUse: true, Progress: Progress{Unused: ago(6 * time.Minute)}}}},
			"detach a, force true\nprogress a unused for 6m0s",
		},
		"the same without force": {
			Volume{PersistentVolume: rwo, NoForce: true, Nodes: []Node{{Name: "a", Attachment: attached, InUse: true, Progress: Progress{Unused: ago(6 * time.Minute)}}}},
			"progress a unused for 6m0s",
		},
		"out of service": {
			Volume{PersistentVolume: rwo, NoForce: true, Nodes: []Node{{Name: "a", Attachment: attached, InUse: true, OutOfService: true}}},
			"detach a, force true\nprogress a unused for 0s",
		},
		"the volume is gone": {Volume{Nodes: []Node{{Name: "a", Attachment: attached}}}, "detach a, force false\nprogress a unused for 0s"},
		"used again":         {Volume{PersistentVolume: rwo, Nodes: []Node{{Name: "a", Pods: pods("n/p"), Attachment: attached, InUse: true, Progress: Progress{Unused: ago(time.Minute)}}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describe(Decide(&tt.v, now)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	ended := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	deleted := metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: now}}
	for name, tt := range map[string]struct {
		pod  corev1.Pod
		node Health
		want bool
	}{
		"new":                         {corev1.Pod{}, Health{Managed: true}, true},
		"on a node of its own":        {corev1.Pod{}, Health{}, false},
		"succeeded":                   {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, Health{Managed: true}, false},
		"failed, and kept":            {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, Health{Managed: true, KeepsTerminated: true}, true},
		"deleted and running":         {corev1.Pod{ObjectMeta: deleted, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended, running}}}, Health{Managed: true}, true},
		"deleted and ended":           {corev1.Pod{ObjectMeta: deleted, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended, ended}}}, Health{Managed: true}, false},
		"deleted before it has begun": {corev1.Pod{ObjectMeta: deleted}, Health{Managed: true}, false},
	} {
		if got := Uses(&tt.pod, tt.node); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
