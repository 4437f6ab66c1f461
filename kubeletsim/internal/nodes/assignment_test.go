package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAssign(t *testing.T) {
	node := func(name string, uid types.UID, addresses string) *corev1.Node {
		n := Declared(&Spec{Name: name})
		n.UID = uid
		if addresses != "" {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, AnnotationAddresses, addresses)
		}
		return n
	}
	expect := func(table *Table, object *corev1.Node, podRange string) string {
		t.Helper()
		a, err := table.Assign(object)
		if err != nil || a.PodRange.String() != podRange {
			t.Errorf("node %s gets %v, %v; want %s", object.Name, a, err, podRange)
		}
		return a.String()
	}
	first := NewTable()
	a := expect(first, node("a", "1", ""), "10.244.0.0/24")
	b := expect(first, node("b", "2", ""), "10.244.1.0/24")
	expect(first, node("a", "1", ""), "10.244.0.0/24")

	// The next process knows what the first one has written.
	second := NewTable()
	expect(second, node("b", "2", b), "10.244.1.0/24")
	expect(second, node("c", "3", ""), "10.244.2.0/24")
	expect(second, node("a", "1", a), "10.244.0.0/24")
	if got := expect(second, node("a", "4", ""), "10.244.0.0/24"); got != a {
		t.Errorf("a Node that was replaced gets %s, want %s of the first", got, a)
	}
	stated := node("d", "5", "")
	stated.Spec.PodCIDR = "10.244.1.0/24"
	expect(second, stated, "10.244.3.0/24")

	if refused := second.Withdraw("b", "other"); refused != nil || second.Get("b") == nil {
		t.Error("Withdraw removes a node of another UID")
	}
	second.Withdraw("b", "2")
	if second.Get("b") != nil {
		t.Error("Withdraw leaves the node")
	}
}

func TestAssignmentOf(t *testing.T) {
	for text, want := range map[string]bool{
		"10.244.1.0/24,172.18.0.2": true, "": false, "10.244.1.0/24": false, "10.244.1.0/24,": false,
		"10.244.1.7/24,172.18.0.2": false, "10.244.1.0/32,172.18.0.2": false, "fd00::/64,172.18.0.2": true, "fd00::/127,172.18.0.2": false, "x,y": false,
	} {
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationAddresses: text}}}
		got, ok := AssignmentOf(object)
		if ok != want || ok && got.String() != text {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}
