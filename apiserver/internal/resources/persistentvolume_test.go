package resources

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A change of a volume's phase moves its time, unless the client sets another one.
func TestPersistentVolumePhaseTime(t *testing.T) {
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2030, 1, 1, 0, minute, 0, 0, time.UTC)}
	}
	const was, changed = corev1.VolumeAvailable, corev1.VolumeBound
	for name, tt := range map[string]struct {
		phase     corev1.PersistentVolumePhase
		set, want *metav1.Time
	}{
		"same phase, no time":       {was, nil, at(1)},
		"same phase, another time":  {was, at(2), at(2)},
		"new phase, no time":        {changed, nil, at(5)},
		"new phase, time sent back": {changed, at(1), at(5)},
		"new phase, another time":   {changed, at(3), at(3)},
	} {
		old := &corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: was, LastPhaseTransitionTime: at(1)}}
		volume := &corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: tt.phase, LastPhaseTransitionTime: tt.set}}
		preparePersistentVolumeStatus(volume, old, *at(5))
		if got := volume.Status.LastPhaseTransitionTime; !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
