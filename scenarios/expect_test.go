package scenarios

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// objects is a list that a cluster gives.
type objects []*unstructured.Unstructured

func (o objects) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	for _, item := range o {
		list.Items = append(list.Items, *item)
	}
	return list, nil
}

func TestCount(t *testing.T) {
	t.Parallel()
	var pods objects
	for i, phase := range []string{"Running", "Running", "Pending"} {
		pods = append(pods, object(t, fmt.Sprintf("{kind: Pod, metadata: {name: web-%d}, status: {phase: %s}}", i, phase)))
	}
	running := map[string]any{"status": map[string]any{"phase": "Running"}}
	for _, test := range []struct {
		count Count
		want  string // empty: it holds
	}{
		{Count{Equals: ptr.To(3)}, ""},
		{Count{Equals: ptr.To(2)}, "expected 2 pods, found 3"},
		{Count{Equals: ptr.To(0)}, "expected 0 pods, found 3"},
		{Count{Min: ptr.To(3)}, ""},
		{Count{Min: ptr.To(4)}, "expected at least 4 pods, found 3"},
		{Count{Max: ptr.To(3)}, ""},
		{Count{Max: ptr.To(2)}, "expected at most 2 pods, found 3"},
		{Count{Min: ptr.To(1), Max: ptr.To(2)}, "expected at least 1 and at most 2 pods, found 3"},
		{Count{Equals: ptr.To(2), Where: running}, ""},
		{Count{Equals: ptr.To(3), Where: running}, `expected 3 pods with {"status":{"phase":"Running"}}, found 2`},
		{Count{Equals: ptr.To(1), Selector: "a=b", FieldSelector: "c=d"}, "expected 1 pods with a=b and c=d, found 3"},
		{Count{Max: ptr.To(0), Where: map[string]any{"status": map[string]any{"phase": "Failed"}}}, ""},
	} {
		test.count.Target = "pods"
		err := test.count.holds(t.Context(), pods)
		var d *differs
		if (test.want == "" && err != nil) || (test.want != "" && (!errors.As(err, &d) || err.Error() != test.want)) {
			t.Errorf("%s: got %v, want %q", test.count.title(), err, test.want)
		}
	}
}

func TestSplitTarget(t *testing.T) {
	t.Parallel()
	for target, want := range map[string][2]string{
		"pod/web": {"pod", "web"}, "pods": {"pods", ""}, "deployments.apps/web": {"deployments.apps", "web"},
	} {
		if kind, name, err := splitTarget(target); err != nil || kind != want[0] || name != want[1] {
			t.Errorf("%s: %q, %q, %v", target, kind, name, err)
		}
	}
	for _, target := range []string{"", "/", "/web", "pod/", "a/b/c"} {
		if kind, name, err := splitTarget(target); err == nil {
			t.Errorf("%s: %q, %q", target, kind, name)
		}
	}
}
