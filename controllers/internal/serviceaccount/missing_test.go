package serviceaccount

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMissing(t *testing.T) {
	active := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	terminating := active.DeepCopy()
	terminating.Status.Phase = corev1.NamespaceTerminating
	deleted := active.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{}
	for name, tt := range map[string]struct {
		namespace *corev1.Namespace
		exists    bool
		want      int
	}{
		"gone":                  {nil, false, 0},
		"active without":        {active, false, 1},
		"active with":           {active, true, 0},
		"terminating":           {terminating, false, 0},
		"deleted, phase behind": {deleted, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := Missing(tt.namespace, func(string) bool { return tt.exists })
			if len(got) != tt.want {
				t.Fatalf("Missing() = %v, want %d", got, tt.want)
			}
			if tt.want == 1 && (got[0].Namespace != "a" || got[0].Name != "default") {
				t.Errorf("Missing() = %s/%s", got[0].Namespace, got[0].Name)
			}
		})
	}
}
