package controllers_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/ttl"
	"minikcm.dev/minikcm/minikcmtest"
)

// TestTTLAnnotation lets a cluster grow beyond 100 nodes and shrink below 90, and checks which
// nodes have which annotation.
func TestTTLAnnotation(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(ttl.Name))
	nodes := c.Client().CoreV1().Nodes()
	name := func(i int) string { return fmt.Sprintf("n%03d", i) }
	create := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if _, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name(i)}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(node, want string) {
		t.Helper()
		if err := c.Advance(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		got, err := nodes.Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if ttl := got.Annotations[corev1.ObjectTTLAnnotationKey]; ttl != want {
			t.Errorf("%s: %q, want %q", node, ttl, want)
		}
	}
	touch := func(node, value string) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, corev1.ObjectTTLAnnotationKey, value)
		if _, err := nodes.Patch(ctx, node, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(0, 100)
	check(name(99), "0")
	touch(name(0), "soon")
	check(name(0), "0")
	create(100, 101)
	check(name(100), "15")
	check(name(0), "0") // no event since
	touch(name(0), "1")
	check(name(0), "15")
	for i := 11; i < 101; i++ {
		if err := nodes.Delete(ctx, name(i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	touch(name(1), "1")
	check(name(1), "0")
}
