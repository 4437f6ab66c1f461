package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: named(name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

// TestDefaultClasses creates claims and Ingresses before and after there is a default class.
func TestDefaultClasses(t *testing.T) {
	h := start(t)
	c := h.client()
	claims, ingresses := c.CoreV1().PersistentVolumeClaims("default"), c.NetworkingV1().Ingresses("default")
	ingress := func(name string, class *string) *networkingv1.Ingress {
		return &networkingv1.Ingress{ObjectMeta: named(name), Spec: networkingv1.IngressSpec{
			IngressClassName: class, DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "s", Port: networkingv1.ServiceBackendPort{Number: 80}}},
		}}
	}
	if got := must(claims.Create(h.ctx, claim("before"), metav1.CreateOptions{}))(t); got.Spec.StorageClassName != nil {
		t.Errorf("without a class: %v", *got.Spec.StorageClassName)
	}
	if got := must(ingresses.Create(h.ctx, ingress("before", nil), metav1.CreateOptions{}))(t); got.Spec.IngressClassName != nil {
		t.Errorf("without a class: %v", *got.Spec.IngressClassName)
	}
	for name, isDefault := range map[string]string{"a": "false", "b": "true", "c": "true"} { // b and c have one creation time
		must(c.StorageV1().StorageClasses().Create(h.ctx, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": isDefault}}, Provisioner: "x.y/z",
		}, metav1.CreateOptions{}))(t)
		must(c.NetworkingV1().IngressClasses().Create(h.ctx, &networkingv1.IngressClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: isDefault}}, Spec: networkingv1.IngressClassSpec{Controller: "x.y/z"},
		}, metav1.CreateOptions{}))(t)
	}
	if got := must(claims.Create(h.ctx, claim("after"), metav1.CreateOptions{}))(t); ptr.Deref(got.Spec.StorageClassName, "") == "" || *got.Spec.StorageClassName == "a" {
		t.Errorf("with default classes: %v", got.Spec.StorageClassName)
	}
	none := claim("none")
	none.Spec.StorageClassName = ptr.To("")
	if got := must(claims.Create(h.ctx, none, metav1.CreateOptions{}))(t); *got.Spec.StorageClassName != "" {
		t.Errorf("with the class \"\": %v", *got.Spec.StorageClassName)
	}
	if got := must(ingresses.Create(h.ctx, ingress("after", nil), metav1.CreateOptions{}))(t); ptr.Deref(got.Spec.IngressClassName, "") == "" || *got.Spec.IngressClassName == "a" {
		t.Errorf("with default classes: %v", got.Spec.IngressClassName)
	}
	if got := must(ingresses.Create(h.ctx, ingress("other", ptr.To("other")), metav1.CreateOptions{}))(t); *got.Spec.IngressClassName != "other" {
		t.Errorf("with a class: %v", *got.Spec.IngressClassName)
	}
}

// TestClaimResize enlarges claims, of which only those with an expandable class may grow.
func TestClaimResize(t *testing.T) {
	h := start(t)
	c := h.client()
	claims := c.CoreV1().PersistentVolumeClaims("default")
	for name, expands := range map[string]*bool{"fixed": nil, "expands": ptr.To(true)} {
		must(c.StorageV1().StorageClasses().Create(h.ctx, &storagev1.StorageClass{ObjectMeta: named(name), Provisioner: "x.y/z", AllowVolumeExpansion: expands}, metav1.CreateOptions{}))(t)
	}
	for class, want := range map[string]string{"expands": "", "fixed": "the storageclass that provisions the pvc must support resize", "gone": "must support resize"} {
		obj := claim("of-" + class)
		obj.Spec.StorageClassName = &class
		obj = must(claims.Create(h.ctx, obj, metav1.CreateOptions{}))(t)
		obj.Status.Phase = corev1.ClaimBound
		obj = must(claims.UpdateStatus(h.ctx, obj, metav1.UpdateOptions{}))(t)
		obj.Spec.VolumeName = "v"
		obj = must(claims.Update(h.ctx, obj, metav1.UpdateOptions{}))(t)
		obj.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		_, err := claims.Update(h.ctx, obj, metav1.UpdateOptions{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", class, err)
		}
	}
}
