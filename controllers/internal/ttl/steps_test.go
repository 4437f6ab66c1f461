package ttl

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNext(t *testing.T) {
	for _, test := range []struct{ current, nodes, want int }{
		{0, 0, 0},
		{0, 100, 0},
		{0, 101, 1},
		{1, 100, 1},
		{1, 90, 1},
		{1, 89, 0},
		{1, 500, 1},
		{1, 501, 2},
		{2, 450, 2},
		{2, 449, 1},
		{2, 1001, 3},
		{3, 900, 3},
		{3, 899, 2},
		{3, 2001, 4},
		{4, 1800, 4},
		{4, 1799, 3},
		{4, 1 << 30, 4},
		{0, 5000, 4},
		{4, 0, 0},
	} {
		if got := next(test.current, test.nodes); got != test.want {
			t.Errorf("next(%d, %d) = %d, want %d", test.current, test.nodes, got, test.want)
		}
	}
}

func TestHas(t *testing.T) {
	for value, want := range map[string]bool{"15": true, "+15": true, "0": false, "": false, "15s": false} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.ObjectTTLAnnotationKey: value}}}
		if got := has(node, 15); got != want {
			t.Errorf("has(%q) = %v, want %v", value, got, want)
		}
	}
	if has(&corev1.Node{}, 0) {
		t.Error("a node without the annotation has 0 seconds")
	}
}
