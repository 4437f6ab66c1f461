package controllers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers/internal/pvprotection"
	"minikcm.dev/minikcm/minikcmtest"
)

func TestABoundVolumeStays(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(pvprotection.Name))
	volumes := c.Client().CoreV1().PersistentVolumes()
	made, err := volumes.Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/v"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status.Phase = corev1.VolumeBound
	if _, err = volumes.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := volumes.Delete(ctx, "v", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	if made, err = volumes.Get(ctx, "v", metav1.GetOptions{}); err != nil || made.DeletionTimestamp == nil {
		t.Fatalf("%v %v", made, err)
	}
	made.Status.Phase = corev1.VolumeReleased
	if _, err = volumes.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the volume to go", func(ctx context.Context, _ kubernetes.Interface) error {
		if _, err := volumes.Get(ctx, "v", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
}
