package minikcmtest_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// What the garbage collector ignores outlives its owner; the rest does not.
func TestGCIgnored(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Controllers.GCIgnored = []schema.GroupResource{{Resource: "secrets"}}
	}))
	core := c.Client().CoreV1()
	owner, err := core.ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}}
	if _, err := core.ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: owned}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Secrets(metav1.NamespaceDefault).Create(t.Context(), &corev1.Secret{ObjectMeta: owned}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := core.ConfigMaps(metav1.NamespaceDefault).Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := core.ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), "owned", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap of the deleted owner: %v, want that it is gone", err)
	}
	if _, err := core.Secrets(metav1.NamespaceDefault).Get(t.Context(), "owned", metav1.GetOptions{}); err != nil {
		t.Errorf("the Secret of the deleted owner: %v, want it", err)
	}
}
