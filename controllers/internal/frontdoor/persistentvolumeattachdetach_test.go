package controllers_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/csivolume"
	"minikcm.dev/minikcm/minikcmtest"
)

// attachDetachBench is a cluster with two nodes in virtual time.
type attachDetachBench struct {
	*minikcmtest.Cluster
	t *testing.T
}

func startAttachDetach(t *testing.T) *attachDetachBench {
	t.Helper()
	return &attachDetachBench{minikcmtest.New(t, minikcmtest.WithNodes(2), minikcmtest.WithVirtualTime()), t}
}

func (b *attachDetachBench) must(_ any, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *attachDetachBench) pass(d time.Duration) {
	b.t.Helper()
	b.must(nil, b.Advance(b.t.Context(), d))
}

func claimOf(name string, annotations map[string]string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

func (b *attachDetachBench) claim(name string, annotations map[string]string) {
	b.t.Helper()
	b.must(b.Client().CoreV1().PersistentVolumeClaims("default").Create(b.t.Context(), claimOf(name, annotations), metav1.CreateOptions{}))
}

// templateOf is a pod that prints the file of its volume, or "empty", and then writes it.
func templateOf(volumes ...corev1.Volume) corev1.PodSpec {
	return corev1.PodSpec{Volumes: volumes, Containers: []corev1.Container{{
		Name: "c", Image: "busybox", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		Command: []string{"sh", "-c", "if [ -f /data/f ]; then cat /data/f; else echo empty; fi; echo kept > /data/f; sleep infinity"},
	}}}
}

// pod creates a pod that uses a claim, on a node unless that is empty.
func (b *attachDetachBench) pod(name, claim, node string) {
	b.t.Helper()
	spec := templateOf(corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	if node != "" {
		spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	}
	b.must(b.Client().CoreV1().Pods("default").Create(b.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{}))
}

func (b *attachDetachBench) statefulSet() {
	b.t.Helper()
	labels := map[string]string{"app": "db"}
	b.must(b.Client().AppsV1().StatefulSets("default").Create(b.t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels}, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claimOf("data", nil)},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: templateOf()},
	}}, metav1.CreateOptions{}))
}

func (b *attachDetachBench) getPod(name string) *corev1.Pod {
	b.t.Helper()
	pod, err := b.Client().CoreV1().Pods("default").Get(b.t.Context(), name, metav1.GetOptions{})
	b.must(pod, err)
	return pod
}

// wantPod checks the phase of a pod.
func (b *attachDetachBench) wantPod(name string, phase corev1.PodPhase) *corev1.Pod {
	b.t.Helper()
	pod := b.getPod(name)
	if pod.Status.Phase != phase {
		b.t.Fatalf("pod %s is %s on %q, not %s; events:\n%s", name, pod.Status.Phase, pod.Spec.NodeName, phase, strings.Join(b.events(name), "\n"))
	}
	return pod
}

// wantLog checks the log of a pod.
func (b *attachDetachBench) wantLog(pod, want string) {
	b.t.Helper()
	stream, err := b.Client().CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{}).Stream(b.t.Context())
	b.must(stream, err)
	defer func() { b.must(nil, stream.Close()) }()
	log, err := io.ReadAll(stream)
	b.must(log, err)
	if string(log) != want {
		b.t.Fatalf("pod %s has printed %q, want %q", pod, log, want)
	}
}

// attachments describes the attachments, sorted by node.
func (b *attachDetachBench) attachments() string {
	b.t.Helper()
	list, err := b.Client().StorageV1().VolumeAttachments().List(b.t.Context(), metav1.ListOptions{})
	b.must(list, err)
	var lines []string
	for _, a := range list.Items {
		volume, err := b.Client().CoreV1().PersistentVolumes().Get(b.t.Context(), *a.Spec.Source.PersistentVolumeName, metav1.GetOptions{})
		b.must(volume, err)
		if want := csivolume.AttachmentName(volume.Spec.CSI, a.Spec.NodeName); a.Name != want {
			b.t.Errorf("the attachment is called %s, not %s", a.Name, want)
		}
		lines = append(lines, fmt.Sprintf("%s attached=%v", a.Spec.NodeName, a.Status.Attached))
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

func (b *attachDetachBench) wantAttachments(want string) {
	b.t.Helper()
	if got := b.attachments(); got != want {
		b.t.Fatalf("attachments: %q, want %q", got, want)
	}
}

// wantNode checks how many volumes a node has in use, and how many are attached to it.
func (b *attachDetachBench) wantNode(name string, inUse, attached int) {
	b.t.Helper()
	node, err := b.Client().CoreV1().Nodes().Get(b.t.Context(), name, metav1.GetOptions{})
	b.must(node, err)
	if len(node.Status.VolumesInUse) != inUse || len(node.Status.VolumesAttached) != attached {
		b.t.Fatalf("node %s has %v in use, and %v attached; want %d and %d", name, node.Status.VolumesInUse, node.Status.VolumesAttached, inUse, attached)
	}
}

func (b *attachDetachBench) events(pod string) []string {
	b.t.Helper()
	list, err := b.Client().CoreV1().Events("").List(b.t.Context(), metav1.ListOptions{})
	b.must(list, err)
	var lines []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name == pod {
			lines = append(lines, fmt.Sprintf("%s %s %s %s", e.Source.Component, e.Type, e.Reason, e.Message))
		}
	}
	return lines
}

func (b *attachDetachBench) wantEvent(pod, want string) {
	b.t.Helper()
	if events := b.events(pod); !slices.Contains(events, want) {
		b.t.Fatalf("no event %q about pod %s, but\n%s", want, pod, strings.Join(events, "\n"))
	}
}

func (b *attachDetachBench) wantNoEvent(pod, part string) {
	b.t.Helper()
	if events := strings.Join(b.events(pod), "\n"); strings.Contains(events, part) {
		b.t.Fatalf("an event about pod %s has %q:\n%s", pod, part, events)
	}
}

func (b *attachDetachBench) volumeOf(claim string) string {
	b.t.Helper()
	c, err := b.Client().CoreV1().PersistentVolumeClaims("default").Get(b.t.Context(), claim, metav1.GetOptions{})
	b.must(c, err)
	return c.Spec.VolumeName
}

// taintOutOfService says that a node is down for good.
func (b *attachDetachBench) taintOutOfService(node string) {
	b.t.Helper()
	object, err := b.Client().CoreV1().Nodes().Get(b.t.Context(), node, metav1.GetOptions{})
	b.must(object, err)
	object.Spec.Taints = append(object.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
	b.must(b.Client().CoreV1().Nodes().Update(b.t.Context(), object, metav1.UpdateOptions{}))
}

func otherNode(node string) string {
	return map[string]string{"node-0": "node-1", "node-1": "node-0"}[node]
}

// TestAttachAndDetach follows the volume of a pod from its node to another one.
func TestAttachAndDetach(t *testing.T) {
	t.Parallel()
	b := startAttachDetach(t)
	b.claim("c", nil)
	b.pod("p", "c", "node-0")
	b.pass(time.Minute)
	b.wantPod("p", corev1.PodRunning)
	b.wantLog("p", "empty\n")
	b.wantAttachments("node-0 attached=true")
	b.wantNode("node-0", 1, 1)
	b.wantEvent("p", `attachdetach-controller Normal SuccessfulAttachVolume AttachVolume.Attach succeeded for volume "`+b.volumeOf("c")+`" `)
	b.pod("q", "c", "node-1")
	b.pass(time.Minute)
	b.wantPod("q", corev1.PodPending)
	b.wantAttachments("node-0 attached=true")
	b.wantEvent("q", `attachdetach-controller Warning FailedAttachVolume Multi-Attach error for volume "`+b.volumeOf("c")+`" Volume is already used by pod(s) p`)
	b.wantNoEvent("q", "FailedMount")
	b.pass(2 * time.Minute)
	b.wantEvent("q", "kubelet Warning FailedMount Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded")
	b.must(nil, b.Client().CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{}))
	b.pass(time.Minute)
	b.wantPod("q", corev1.PodRunning)
	b.wantLog("q", "kept\n")
	b.wantAttachments("node-1 attached=true")
	b.wantNode("node-0", 0, 0)
	b.wantNode("node-1", 1, 1)
	b.must(nil, b.Client().CoreV1().Pods("default").Delete(t.Context(), "q", metav1.DeleteOptions{}))
	b.must(nil, b.Client().CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), "c", metav1.DeleteOptions{}))
	b.pass(time.Minute)
	b.wantAttachments("")
	b.wantNode("node-1", 0, 0)
	if volumes, err := b.Client().CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{}); err != nil || len(volumes.Items) > 0 {
		t.Fatalf("the volume stays: %v %v", volumes.Items, err)
	}
}

// TestForeignAttachment checks that attachments which another controller has made stay, also if they name a volume that does
// not exist.
func TestForeignAttachment(t *testing.T) {
	t.Parallel()
	b := startAttachDetach(t)
	attachments := b.Client().StorageV1().VolumeAttachments()
	foreign := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "attacher.example.com", NodeName: "node-0", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("none")},
	}}
	b.must(attachments.Create(t.Context(), foreign, metav1.CreateOptions{}))
	b.pass(10 * time.Minute)
	b.must(attachments.Get(t.Context(), "foreign", metav1.GetOptions{}))
}

// TestOutOfServiceNode loses the node of a StatefulSet's pod, which moves with its file once an
// administrator says that the node is down.
func TestOutOfServiceNode(t *testing.T) {
	t.Parallel()
	b := startAttachDetach(t)
	b.statefulSet()
	b.pass(time.Minute)
	b.wantLog("db-0", "empty\n")
	lost := b.wantPod("db-0", corev1.PodRunning)
	b.must(nil, b.Kubelets().StopNode(lost.Spec.NodeName))
	b.pass(20 * time.Minute)
	if pod := b.wantPod("db-0", corev1.PodRunning); pod.UID != lost.UID || pod.DeletionTimestamp == nil {
		t.Fatalf("pod %s with deletion time %v", pod.UID, pod.DeletionTimestamp)
	}
	b.wantAttachments(lost.Spec.NodeName + " attached=true")
	b.taintOutOfService(lost.Spec.NodeName)
	b.pass(time.Minute)
	if pod := b.wantPod("db-0", corev1.PodRunning); pod.UID == lost.UID || pod.Spec.NodeName != otherNode(lost.Spec.NodeName) {
		t.Fatalf("pod %s on node %s", pod.UID, pod.Spec.NodeName)
	}
	b.wantLog("db-0", "kept\n")
	b.wantAttachments(otherNode(lost.Spec.NodeName) + " attached=true")
	b.wantNoEvent("db-0", "Multi-Attach")
}

// TestForceDetachAfterSixMinutes deletes the pod of a hanging node by force: the next one waits
// six minutes for the volume.
func TestForceDetachAfterSixMinutes(t *testing.T) {
	t.Parallel()
	b := startAttachDetach(t)
	b.statefulSet()
	b.pass(time.Minute)
	lost := b.wantPod("db-0", corev1.PodRunning)
	b.must(nil, b.Kubelets().HangNode(lost.Spec.NodeName))
	b.pass(2 * time.Minute)
	b.must(nil, b.Client().CoreV1().Pods("default").Delete(t.Context(), "db-0", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	b.pass(5*time.Minute + 50*time.Second)
	pod := b.wantPod("db-0", corev1.PodPending)
	if pod.Spec.NodeName != otherNode(lost.Spec.NodeName) || pod.Status.ContainerStatuses[0].State.Waiting.Reason != "ContainerCreating" {
		t.Fatalf("pod on %s: %+v", pod.Spec.NodeName, pod.Status)
	}
	b.wantEvent("db-0", `attachdetach-controller Warning FailedAttachVolume Multi-Attach error for volume "`+b.volumeOf("data-db-0")+`" Volume is already exclusively attached to one node and can't be attached to another`)
	b.wantAttachments(lost.Spec.NodeName + " attached=true")
	b.pass(20 * time.Second)
	b.wantPod("db-0", corev1.PodRunning)
	b.wantLog("db-0", "kept\n")
	b.wantAttachments(otherNode(lost.Spec.NodeName) + " attached=true")
	b.must(nil, b.Kubelets().UnhangNode(lost.Spec.NodeName))
	b.pass(time.Minute)
	b.wantNode(lost.Spec.NodeName, 0, 0)
}

// TestForceDetachFromDeletedNode deletes a Node: the six minutes begin when its pods are collected, 40 s later.
func TestForceDetachFromDeletedNode(t *testing.T) {
	t.Parallel()
	b := startAttachDetach(t)
	b.statefulSet()
	b.pass(time.Minute)
	lost := b.wantPod("db-0", corev1.PodRunning)
	b.must(nil, b.Kubelets().StopNode(lost.Spec.NodeName))
	b.must(nil, b.Client().CoreV1().Nodes().Delete(t.Context(), lost.Spec.NodeName, metav1.DeleteOptions{}))
	b.pass(6*time.Minute + 35*time.Second)
	if pod := b.wantPod("db-0", corev1.PodPending); pod.Spec.NodeName != otherNode(lost.Spec.NodeName) {
		t.Fatalf("pod on %s: %+v", pod.Spec.NodeName, pod.Status)
	}
	b.wantAttachments(lost.Spec.NodeName + " attached=true")
	b.pass(45 * time.Second)
	b.wantPod("db-0", corev1.PodRunning)
	b.wantAttachments(otherNode(lost.Spec.NodeName) + " attached=true")
}

// TestDriverOfTheUser uses a volume of a driver that is not simulated, and one whose driver
// requires no attachment.
func TestDriverOfTheUser(t *testing.T) {
	t.Parallel()
	b := startAttachDetach(t)
	ctx := t.Context()
	b.must(b.Client().StorageV1().CSIDrivers().Create(ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "plain.io"}, Spec: storagev1.CSIDriverSpec{AttachRequired: ptr.To(false)}}, metav1.CreateOptions{}))
	for _, driver := range []string{"plain.io", "strict.io"} {
		c := claimOf(driver, nil)
		c.Spec.VolumeName, c.Spec.StorageClassName = driver, ptr.To("")
		b.must(b.Client().CoreV1().PersistentVolumeClaims("default").Create(ctx, c, metav1.CreateOptions{}))
		b.must(b.Client().CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "handle"}},
		}}, metav1.CreateOptions{}))
	}
	b.pod("plain", "plain.io", "")
	b.pod("strict", "strict.io", "node-0")
	b.pass(3 * time.Minute)
	b.wantPod("plain", corev1.PodRunning)
	b.wantPod("strict", corev1.PodPending)
	b.wantEvent("strict", `attachdetach-controller Warning FailedAttachVolume AttachVolume.Attach failed for volume "strict.io" : timed out waiting for external-attacher of strict.io CSI driver to attach volume handle`)
	b.wantAttachments("node-0 attached=false")
	b.wantNode("node-0", 1, 0)
	name := csivolume.AttachmentName(&corev1.CSIPersistentVolumeSource{Driver: "strict.io", VolumeHandle: "handle"}, "node-0")
	b.must(b.Client().StorageV1().VolumeAttachments().Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"attached":true}}`), metav1.PatchOptions{}, "status"))
	b.pass(time.Second)
	b.wantPod("strict", corev1.PodRunning)
	b.must(nil, b.Client().CoreV1().Pods("default").Delete(ctx, "strict", metav1.DeleteOptions{}))
	b.pass(time.Minute)
	b.wantAttachments("")
}

// TestAttachmentsOfADeletedNode deletes the Node that a volume is attached to.
func TestAttachmentsOfADeletedNode(t *testing.T) {
	t.Parallel()
	b := startAttachDetach(t)
	b.statefulSet()
	b.pass(time.Minute)
	lost := b.wantPod("db-0", corev1.PodRunning)
	b.must(nil, b.Client().CoreV1().Nodes().Delete(t.Context(), lost.Spec.NodeName, metav1.DeleteOptions{}))
	b.pass(5 * time.Minute)
	b.wantAttachments(lost.Spec.NodeName + " attached=true")
	b.pass(3 * time.Minute)
	if pod := b.wantPod("db-0", corev1.PodRunning); pod.Spec.NodeName != otherNode(lost.Spec.NodeName) {
		t.Fatalf("pod on %s", pod.Spec.NodeName)
	}
	b.wantLog("db-0", "kept\n")
	_, err := b.Client().CoreV1().Nodes().Get(t.Context(), lost.Spec.NodeName, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}
