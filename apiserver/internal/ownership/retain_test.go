package ownership

import (
	"runtime"
	"testing"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Managed fields do not keep earlier states of the object in memory.
func TestFieldsKeepNoObject(t *testing.T) {
	tracker := NewTracker()
	var before weak.Pointer[corev1.ConfigMap]
	write := func(live *corev1.ConfigMap, value string) *corev1.ConfigMap {
		before = weak.Make(live)
		next := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"key": value}}
		managed, ok := tracker.Track(&Write{
			Live: live, New: next, Managed: live.ManagedFields, Manager: "test", APIVersion: "v1", Time: metav1.NewTime(time.Unix(1, 0)),
		})
		if !ok {
			t.Fatal("not tracked")
		}
		next.ManagedFields = managed
		return next
	}
	newest := write(write(&corev1.ConfigMap{}, "1"), "2")
	runtime.GC()
	if before.Value() != nil {
		t.Error("the state before is still there")
	}
	if len(newest.ManagedFields) != 1 {
		t.Errorf("the managed fields are %v", newest.ManagedFields)
	}
}
