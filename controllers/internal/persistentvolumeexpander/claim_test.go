package persistentvolumeexpander

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/loop"
)

func claim(request, capacity string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "c"},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v", Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(request)},
		}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)}},
	}
}

// TestOnClaim enqueues claims that wait and whose request has grown.
func TestOnClaim(t *testing.T) {
	t.Parallel()
	pending := claim("2Gi", "1Gi")
	pending.Status.Phase = corev1.ClaimPending
	for name, tt := range map[string]struct {
		event loop.Event
		want  int
	}{
		"known from the start": {loop.Event{Type: loop.Added, Object: claim("2Gi", "1Gi")}, 1},
		"satisfied":            {loop.Event{Type: loop.Added, Object: claim("1Gi", "1024Mi")}, 0},
		"grown":                {loop.Event{Type: loop.Updated, Object: claim("2Gi", "1Gi"), Old: claim("1Gi", "1Gi")}, 1},
		"as before":            {loop.Event{Type: loop.Updated, Object: claim("2Gi", "1Gi"), Old: claim("2Gi", "1Gi")}, 0},
		"expanded":             {loop.Event{Type: loop.Updated, Object: claim("2Gi", "2Gi"), Old: claim("2Gi", "1Gi")}, 0},
		"not bound":            {loop.Event{Type: loop.Added, Object: pending}, 0},
		"deleted":              {loop.Event{Type: loop.Deleted, Object: claim("2Gi", "1Gi")}, 0},
	} {
		if keys := onClaim(tt.event); len(keys) != tt.want {
			t.Errorf("%s: %v, want %d keys", name, keys, tt.want)
		}
	}
}
