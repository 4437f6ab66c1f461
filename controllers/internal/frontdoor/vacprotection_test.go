package controllers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

func TestAClassGoesAfterItsClaims(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime())
	classes, claims := c.Client().StorageV1().VolumeAttributesClasses(), c.Client().CoreV1().PersistentVolumeClaims("default")
	class := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, DriverName: "example.com", Parameters: map[string]string{"iops": "1"}}
	if made, err := classes.Create(ctx, class, metav1.CreateOptions{}); err != nil || len(made.Finalizers) != 1 {
		t.Fatalf("%v %v", made, err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeAttributesClassName: ptr.To("fast"),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	if _, err := claims.Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	if err := classes.Delete(ctx, "fast", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	if kept, err := classes.Get(ctx, "fast", metav1.GetOptions{}); err != nil || kept.DeletionTimestamp == nil {
		t.Fatalf("%v %v", kept, err)
	}
	if err := claims.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Eventually("the class to go", func(ctx context.Context, _ kubernetes.Interface) error {
		if _, err := classes.Get(ctx, "fast", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
}
