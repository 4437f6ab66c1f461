package kubeletsim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/kubeletsim/internal/images"
)

// TestTakeList has an informer that is behind the list, or ahead of it.
func TestTakeList(t *testing.T) {
	pod := func(name, version string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version},
			Spec:       corev1.PodSpec{NodeName: "node-0"},
		}
	}
	table := newPodTable(&images.Profiles{}, nil)
	table.observe(pod("older", "90"))
	table.observe(pod("newer", "99"))
	table.expectList()
	table.lose(pod("deleted", "91"))
	changed := table.takeList([]corev1.Pod{*pod("older", "95"), *pod("newer", "95"), *pod("unseen", "95"), *pod("deleted", "90")})
	if len(changed) != 2 || changed[0].Name != "older" || changed[1].Name != "unseen" {
		t.Errorf("the list changed %v", changed)
	}
	table.observe(pod("unseen", "91"))
	for name, want := range map[string]string{"older": "95", "newer": "99", "unseen": "95", "deleted": ""} {
		got := ""
		if e := table.get(types.UID(name)); e != nil {
			got = e.pod.ResourceVersion
		}
		if got != want {
			t.Errorf("pod %s is at %q, want %q", name, got, want)
		}
	}
	if on := table.on("node-0"); len(on) != 3 {
		t.Errorf("on the node are %v", on)
	}
}
