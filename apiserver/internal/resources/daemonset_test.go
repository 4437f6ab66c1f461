package resources

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestTemplateGeneration checks that only changes of a DaemonSet's template count,
// whatever value the client sends.
func TestTemplateGeneration(t *testing.T) {
	strategy := rowOf(t, "apps", "v1", "DaemonSet").Strategy
	old := &appsv1.DaemonSet{}
	strategy.PrepareCreate(old)
	for _, test := range []struct {
		name   string
		change func(*appsv1.DaemonSet)
		want   string
	}{
		{"nothing", func(*appsv1.DaemonSet) {}, "1"},
		{"annotation left out", func(d *appsv1.DaemonSet) { d.Annotations = nil }, "1"},
		{"annotation set", func(d *appsv1.DaemonSet) { d.Annotations[appsv1.DeprecatedTemplateGeneration] = "7" }, "1"},
		{"strategy", func(d *appsv1.DaemonSet) { d.Spec.MinReadySeconds = 9 }, "1"},
		{"template", func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.NodeName = "a" }, "2"},
	} {
		d := old.DeepCopy()
		test.change(d)
		strategy.PrepareUpdate(d, old)
		if got := d.Annotations[appsv1.DeprecatedTemplateGeneration]; got != test.want {
			t.Errorf("%s: generation %s, want %s", test.name, got, test.want)
		}
	}
}
