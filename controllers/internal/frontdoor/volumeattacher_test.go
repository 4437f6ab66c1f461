package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/volumeattacher/decide"
	"minikcm.dev/minikcm/minikcmtest"
)

// attacherBench is a cluster with a node, in virtual time.
type attacherBench struct {
	*minikcmtest.Cluster
	t   *testing.T
	ctx context.Context
}

func startAttacher(t *testing.T) *attacherBench {
	t.Helper()
	return &attacherBench{minikcmtest.New(t, minikcmtest.WithNodes(1), minikcmtest.WithVirtualTime()), t, t.Context()}
}

func (b *attacherBench) must(_ any, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// run creates a claim with annotations, and a pod that uses it.
func (b *attacherBench) run(name string, annotations map[string]string) {
	b.t.Helper()
	b.must(b.Client().CoreV1().PersistentVolumeClaims("default").Create(b.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{}))
	b.must(b.Client().CoreV1().Pods("default").Create(b.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "x"}},
		Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}},
	}}, metav1.CreateOptions{}))
}

// want lets time pass and compares the phase of a pod.
func (b *attacherBench) want(pass time.Duration, pod string, phase corev1.PodPhase) {
	b.t.Helper()
	b.must(nil, b.Advance(b.ctx, pass))
	p, err := b.Client().CoreV1().Pods("default").Get(b.ctx, pod, metav1.GetOptions{})
	b.must(p, err)
	if p.Status.Phase != phase {
		b.t.Fatalf("pod %s is %s, not %s", pod, p.Status.Phase, phase)
	}
}

// attachment returns the only attachment; nil: there is none.
func (b *attacherBench) attachment() *storagev1.VolumeAttachment {
	b.t.Helper()
	list, err := b.Client().StorageV1().VolumeAttachments().List(b.ctx, metav1.ListOptions{})
	b.must(list, err)
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

func (b *attacherBench) annotate(claim, key, value string) {
	b.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value)
	b.must(b.Client().CoreV1().PersistentVolumeClaims("default").Patch(b.ctx, claim, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
}

func (b *attacherBench) deletePod(name string) {
	b.t.Helper()
	b.must(nil, b.Client().CoreV1().Pods("default").Delete(b.ctx, name, metav1.DeleteOptions{}))
}

// TestSlowAttachment attaches and detaches a volume with delays.
func TestSlowAttachment(t *testing.T) {
	t.Parallel()
	b := startAttacher(t)
	b.run("p", map[string]string{decide.AttachDelayAnnotation: "30s", decide.DetachDelayAnnotation: "40s"})
	b.want(29*time.Second, "p", corev1.PodPending)
	if a := b.attachment(); a.Status.Attached || !slices.Equal(a.Finalizers, []string{"external-attacher/simulated-minikcm-dev"}) {
		t.Fatalf("attachment %+v", a)
	}
	b.want(5*time.Second, "p", corev1.PodRunning)
	b.deletePod("p")
	b.must(nil, b.Advance(b.ctx, 35*time.Second))
	if a := b.attachment(); a == nil || a.DeletionTimestamp == nil {
		t.Fatalf("attachment %+v", a)
	}
	b.must(nil, b.Advance(b.ctx, 10*time.Second))
	if a := b.attachment(); a != nil {
		t.Fatalf("attachment %+v", a)
	}
}

// TestFailingAttachment fails to attach and to detach a volume until its claim is mended.
func TestFailingAttachment(t *testing.T) {
	t.Parallel()
	b := startAttacher(t)
	b.run("p", map[string]string{decide.AttachErrorAnnotation: "too many volumes", decide.DetachErrorAnnotation: "the node is busy"})
	b.want(time.Minute, "p", corev1.PodPending)
	if a := b.attachment(); a.Status.Attached || a.Status.AttachError == nil || a.Status.AttachError.Message != "too many volumes" {
		t.Fatalf("attachment %+v", a)
	}
	b.EventuallyEvent("default", "Pod", `Warning FailedAttachVolume AttachVolume.Attach failed for volume "`+*b.attachment().Spec.Source.PersistentVolumeName+`" : too many volumes`)
	b.annotate("p", decide.AttachErrorAnnotation, "null")
	b.want(5*time.Minute, "p", corev1.PodRunning)
	if a := b.attachment(); !a.Status.Attached || a.Status.AttachError != nil {
		t.Fatalf("attachment %+v", a)
	}
	b.deletePod("p")
	b.must(nil, b.Advance(b.ctx, time.Minute))
	if a := b.attachment(); a.Status.DetachError == nil || a.Status.DetachError.Message != "the node is busy" {
		t.Fatalf("attachment %+v", a)
	}
	b.annotate("p", decide.DetachErrorAnnotation, "null")
	b.must(nil, b.Advance(b.ctx, 5*time.Minute))
	if a := b.attachment(); a != nil {
		t.Fatalf("attachment %+v", a)
	}
}

// TestWrongAttachDelay reports an annotation that is no duration.
func TestWrongAttachDelay(t *testing.T) {
	t.Parallel()
	b := startAttacher(t)
	b.run("p", map[string]string{decide.AttachDelayAnnotation: "soon"})
	b.want(time.Minute, "p", corev1.PodPending)
	const want = `the annotation minikcm.dev/attach-delay is "soon": it must be a duration from 0s to 24h0m0s, such as 5s`
	if a := b.attachment(); a.Status.AttachError == nil || a.Status.AttachError.Message != want {
		t.Fatalf("attachment %+v", a)
	}
}

// TestAttachmentSimulatedLater leaves the attachment of another driver alone until its CSIDriver says that it
// is simulated.
func TestAttachmentSimulatedLater(t *testing.T) {
	t.Parallel()
	b := startAttacher(t)
	volume := "v"
	b.must(b.Client().StorageV1().CSIDrivers().Create(b.ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "x.io"}}, metav1.CreateOptions{}))
	b.must(b.Client().CoreV1().PersistentVolumes().Create(b.ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "x.io", VolumeHandle: "h"}},
	}}, metav1.CreateOptions{}))
	b.must(b.Client().StorageV1().VolumeAttachments().Create(b.ctx, &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "x.io", NodeName: "node-0", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
	}}, metav1.CreateOptions{}))
	b.must(nil, b.Advance(b.ctx, time.Hour))
	if a := b.attachment(); a.Status.Attached || len(a.Finalizers) > 0 {
		t.Fatalf("attachment %+v", a)
	}
	b.must(b.Client().StorageV1().CSIDrivers().Patch(b.ctx, "x.io", types.MergePatchType, []byte(`{"metadata":{"annotations":{"minikcm.dev/simulated":"true"}}}`), metav1.PatchOptions{}))
	b.must(nil, b.Advance(b.ctx, time.Second))
	if a := b.attachment(); !a.Status.Attached {
		t.Fatalf("attachment %+v", a)
	}
}
