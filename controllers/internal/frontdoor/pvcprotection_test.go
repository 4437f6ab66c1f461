package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/minikcmtest"
)

func protectedClaim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// TestAClaimGoesAfterItsPod deletes a claim that a running pod uses, and one that no pod
// uses.
func TestAClaimGoesAfterItsPod(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithVirtualTime())
	claims, pods := c.Client().CoreV1().PersistentVolumeClaims("default"), c.Client().CoreV1().Pods("default")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"used", "free"} {
		made, err := claims.Create(ctx, protectedClaim(name), metav1.CreateOptions{})
		if err != nil || len(made.Finalizers) != 1 || made.Finalizers[0] != "kubernetes.io/pvc-protection" {
			t.Fatalf("%v %v", made, err)
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "nginx"}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "used"},
		}}},
	}}
	must(pods.Create(ctx, pod, metav1.CreateOptions{}))
	c.Eventually("the pod to run", func(ctx context.Context, _ kubernetes.Interface) error {
		p, err := pods.Get(ctx, "p", metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", p.Status.Phase)
		}
		return err
	})
	gone := func(name string) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, _ kubernetes.Interface) error {
			if _, err := claims.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("it is there"), err)
			}
			return nil
		}
	}
	must(nil, claims.Delete(ctx, "free", metav1.DeleteOptions{}))
	must(nil, claims.Delete(ctx, "used", metav1.DeleteOptions{}))
	c.Eventually("the free claim to go", gone("free"))
	if kept, err := claims.Get(ctx, "used", metav1.GetOptions{}); err != nil || kept.DeletionTimestamp == nil {
		t.Fatalf("%v %v", kept, err)
	}
	must(nil, pods.Delete(ctx, "p", metav1.DeleteOptions{}))
	c.Eventually("the claim to go after its pod", gone("used"))
}

// TestABoundClaimSaysWhetherItIsUsed binds a claim to a volume that is reserved for it.
func TestABoundClaimSaysWhetherItIsUsed(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithVirtualTime())
	claims := c.Client().CoreV1().PersistentVolumeClaims("default")
	made := protectedClaim("a")
	made.Spec.VolumeName, made.Spec.StorageClassName = "v", ptr.To("")
	if _, err := claims.Create(ctx, made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Client().CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: made.Spec.AccessModes, Capacity: made.Spec.Resources.Requests,
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/v"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Eventually("the condition Unused", func(ctx context.Context, _ kubernetes.Interface) error {
		got, err := claims.Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range got.Status.Conditions {
			if condition.Type == corev1.PersistentVolumeClaimUnused && condition.Status == corev1.ConditionTrue && condition.Reason == "NoPodsUsingPVC" {
				return nil
			}
		}
		return fmt.Errorf("the conditions are %v", got.Status.Conditions)
	})
}
