package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// If too few pods are ready, the killed ones are among the first that are reported.
func TestAboutTooFew(t *testing.T) {
	t.Parallel()
	pod := func(name string, ready bool) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}, "status": map[string]any{"ready": ready}}}
	}
	where := map[string]any{"status": map[string]any{"ready": true}}
	lacking := []*unstructured.Unstructured{pod("new-1", false), pod("new-2", false), pod("new-3", false)}
	gone := []*viewed{{came: pod("evicted", false)}, {came: pod("killed-2", true)}, {came: pod("killed-1", true)}}
	for name, test := range map[string]struct {
		lacking []*unstructured.Unstructured
		gone    []*viewed
		want    []string
	}{
		"both":    {lacking, gone, []string{"new-1", "killed-2", "killed-1", "new-2", "new-3", "evicted"}},
		"lacking": {lacking, nil, []string{"new-1", "new-2", "new-3"}},
		"gone":    {nil, gone, []string{"killed-2", "killed-1", "evicted"}},
		"neither": {nil, nil, nil},
	} {
		d := &Differs{}
		d.about(where, test.lacking, test.gone)
		var got []string
		for _, o := range d.Objects {
			got = append(got, o.GetName())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
