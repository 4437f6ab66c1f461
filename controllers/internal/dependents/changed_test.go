package dependents

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/loop"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	at := func(revision, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: revision}, Spec: corev1.PodSpec{NodeName: node}}
	}
	moved := func(old, now *corev1.Pod) bool { return old.Spec.NodeName != now.Spec.NodeName }
	for name, tt := range map[string]struct {
		ev   loop.Event
		want bool
	}{
		"new":            {loop.Event{Type: loop.Added, Object: at("1", "")}, true},
		"gone":           {loop.Event{Type: loop.Deleted, Object: at("1", "")}, true},
		"moved":          {loop.Event{Type: loop.Updated, Old: at("1", ""), Object: at("2", "n")}, true},
		"something":      {loop.Event{Type: loop.Updated, Old: at("1", "n"), Object: at("2", "n")}, false},
		"a resync":       {loop.Event{Type: loop.Updated, Old: at("2", "n"), Object: at("2", "n")}, true},
		"another object": {loop.Event{Type: loop.Added, Object: &corev1.Node{}}, false},
	} {
		if pod, ok := Changed(tt.ev, moved); ok != tt.want || ok && pod == nil {
			t.Errorf("%s: %v, %v", name, pod, ok)
		}
	}
}
