package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

func template(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"b": "2", "a": "1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
	}
}

// TestData checks that the bytes equal the ones that kubectl computes from a workload to compare.
func TestData(t *testing.T) {
	data, err := Data(template("<&>"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"a":"1","b":"2"}},` +
		`"spec":{"containers":[{"image":"\u003c\u0026\u003e","name":"c","resources":{}}]}}}}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	back, err := Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(template("<&>"), back); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	if _, err := Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte("[]")}}); err == nil {
		t.Error("a revision is read that holds no patch")
	}
}

func TestCollisionsLeadToOtherNames(t *testing.T) {
	if Hash([]byte("x"), 0) == Hash([]byte("x"), 1) || Hash([]byte("x"), 0) == Hash([]byte("y"), 0) {
		t.Error("hashes are the same")
	}
}

func revision(name string, number int64, data string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1_000_000, 0))},
		Revision:   number, Data: runtime.RawExtension{Raw: []byte(data)},
	}
}

func did(actions []plan.Action) []string {
	var lines []string
	for _, action := range actions {
		r := action.Objects[0].(*appsv1.ControllerRevision)
		lines = append(lines, fmt.Sprintf("%s %s %d", action.Verb, r.Name, r.Revision))
	}
	return lines
}

func TestAdvance(t *testing.T) {
	one, two, three := revision("one", 1, "x"), revision("two", 2, "y"), revision("three", 3, "x")
	for name, tc := range map[string]struct {
		known []*appsv1.ControllerRevision
		data  string
		name  string
		want  []string
	}{
		"the first":             {nil, "x", "new", []string{"create new 1"}},
		"another":               {[]*appsv1.ControllerRevision{two, one}, "z", "new", []string{"create new 3"}},
		"the same":              {[]*appsv1.ControllerRevision{two, one}, "y", "two", nil},
		"an older one":          {[]*appsv1.ControllerRevision{two, one}, "x", "one", []string{"update one 3"}},
		"the newest of several": {[]*appsv1.ControllerRevision{three, two, one}, "x", "three", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, actions := Advance(Sorted(tc.known), revision("new", 0, tc.data))
			if got.Name != tc.name {
				t.Errorf("revision %s, want %s", got.Name, tc.name)
			}
			if diff := cmp.Diff(tc.want, did(actions)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
	if one.Revision != 1 {
		t.Error("a cached revision has been changed")
	}
}

func TestSurplus(t *testing.T) {
	all := []*appsv1.ControllerRevision{revision("one", 1, "a"), revision("two", 2, "b"), revision("three", 3, "c")}
	used := func(names ...string) func(*appsv1.ControllerRevision) bool {
		return func(r *appsv1.ControllerRevision) bool {
			for _, name := range names {
				if r.Name == name {
					return true
				}
			}
			return false
		}
	}
	limit := func(n int32) *int32 { return &n }
	for name, tc := range map[string]struct {
		limit *int32
		inUse func(*appsv1.ControllerRevision) bool
		want  []string
	}{
		"all may stay":         {limit(3), used(), nil},
		"so by default":        {nil, used(), nil},
		"the oldest go":        {limit(1), used(), []string{"delete one 1", "delete two 2"}},
		"but those in use":     {limit(1), used("one"), []string{"delete two 2", "delete three 3"}},
		"all, if none is kept": {limit(0), used("two"), []string{"delete one 1", "delete three 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, did(Surplus(all, tc.limit, tc.inUse))); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}
