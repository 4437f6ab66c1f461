package controllers_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/persistentvolumebinder"
	"minikcm.dev/minikcm/controllers/internal/selinuxwarning"
	"minikcm.dev/minikcm/controllers/internal/serviceaccount"
	"minikcm.dev/minikcm/minikcmtest"
)

func podLabeled(name, level string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: level}},
		Containers:      []corev1.Container{{Name: "c", Image: "nginx", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}},
	}}
}

// TestSELinuxLabelsOfOneVolume creates two pods before their claim and its driver.
func TestSELinuxLabelsOfOneVolume(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(),
		minikcmtest.WithControllers(serviceaccount.Name, persistentvolumebinder.Name, selinuxwarning.Name))
	if err := c.Advance(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	core, opts := c.Client().CoreV1(), metav1.CreateOptions{}
	for _, p := range []*corev1.Pod{podLabeled("a", "s0:c1"), podLabeled("b", "s0:c2")} {
		if _, err := core.Pods("default").Create(ctx, p, opts); err != nil {
			t.Fatal(err)
		}
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: modes, PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: "x.test", VolumeHandle: "h"},
		},
	}}
	if _, err := core.PersistentVolumes().Create(ctx, volume, opts); err != nil {
		t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size}, StorageClassName: ptr.To(""),
	}}
	if _, err := core.PersistentVolumeClaims("default").Create(ctx, claim, opts); err != nil {
		t.Fatal(err)
	}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "x.test"}, Spec: storagev1.CSIDriverSpec{SELinuxMount: ptr.To(true)}}
	if _, err := c.Client().StorageV1().CSIDrivers().Create(ctx, driver, opts); err != nil {
		t.Fatal(err)
	}
	c.EventuallyEvent("default", "Pod", `Normal SELinuxLabelConflict SELinuxLabel ":::s0:c2" conflicts with pod a that uses the same volume as this pod with SELinuxLabel ":::s0:c1". If both pods land on the same node, only one of them may access the volume.`)
}
