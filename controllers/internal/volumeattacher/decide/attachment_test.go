package decide

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioning "minikcm.dev/minikcm/controllers/internal/volumeprovisioner/decide"
)

func attachment(driver string, attached, deleted bool, finalizers ...string) *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}, Spec: storagev1.VolumeAttachmentSpec{Attacher: driver}}
	a.Status.Attached = attached
	if deleted {
		a.DeletionTimestamp = &metav1.Time{}
	}
	return a
}

func TestDue(t *testing.T) {
	t.Parallel()
	const own, other = provisioning.Driver, "x.io"
	marked := metav1.ObjectMeta{Annotations: map[string]string{provisioning.Simulated: "true"}}
	for name, tt := range map[string]struct {
		subject Subject
		want    Verb
	}{
		"new":                           {Subject{Attachment: attachment(own, false, false)}, Attach},
		"attached":                      {Subject{Attachment: attachment(own, true, false, Finalizer(own))}, Nothing},
		"deleted":                       {Subject{Attachment: attachment(own, true, true, Finalizer(own))}, Detach},
		"deleted and detached":          {Subject{Attachment: attachment(own, true, true, "another")}, Nothing},
		"of another driver":             {Subject{Attachment: attachment(other, false, false)}, Nothing},
		"of another driver, deleted":    {Subject{Attachment: attachment(other, true, true, Finalizer(other))}, Nothing},
		"of a simulated driver":         {Subject{Attachment: attachment(other, false, false), Driver: &storagev1.CSIDriver{ObjectMeta: marked}}, Attach},
		"of a driver that is not":       {Subject{Attachment: attachment(other, false, false), Driver: &storagev1.CSIDriver{}}, Nothing},
		"in a simulated class":          {Subject{Attachment: attachment(other, false, false), Class: &storagev1.StorageClass{ObjectMeta: marked, Provisioner: other}}, Attach},
		"in a class of another's":       {Subject{Attachment: attachment(other, false, false), Class: &storagev1.StorageClass{Provisioner: other}}, Nothing},
		"without its volume, simulated": {Subject{Attachment: attachment(own, true, true, Finalizer(own)), Volume: nil}, Detach},
	} {
		if got := Due(&tt.subject); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func TestSimulation(t *testing.T) {
	t.Parallel()
	annotated := func(delay, failure string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Annotations: map[string]string{AttachDelayAnnotation: delay, AttachErrorAnnotation: failure}}
	}
	s := &Subject{
		Attachment: attachment(provisioning.Driver, false, false), Claim: &corev1.PersistentVolumeClaim{ObjectMeta: annotated("5s", "")},
		Volume: &corev1.PersistentVolume{ObjectMeta: annotated("6s", "busy")}, Class: &storagev1.StorageClass{ObjectMeta: annotated("7s", "full")},
	}
	if delay, failure := Simulation(s, Attach); delay != 5*time.Second || failure != "busy" {
		t.Errorf("attaching takes %s and fails with %q", delay, failure)
	}
	if delay, failure := Simulation(s, Detach); delay != 0 || failure != "" {
		t.Errorf("detaching takes %s and fails with %q", delay, failure)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 100: 5 * time.Minute} {
		if got := Retry(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
}
