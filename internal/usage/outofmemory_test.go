package usage

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestOutOfMemory(t *testing.T) {
	tests := []struct {
		name, memory, limit string
		want                time.Duration
	}{
		{"too large from the start", "100Mi", "64Mi", oomFirst},
		{"never", "60Mi", "64Mi", 0},
		{"no limit", "100Mi", "0", 0},
		{"a leak", "ramp 32Mi 96Mi 10m", "64Mi", 5*time.Minute + oomFirst},
		{"a step", "steps 32Mi 1m 80Mi 1m 10Mi", "64Mi", time.Minute + oomFirst},
		{"too late", "ramp 0 100Mi 100h", "64Mi", 0},
	}
	for _, tt := range tests {
		c := containerWith("web", nil, corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(tt.limit)})
		pod := usedPod("a", map[string]string{AnnotationMemory: tt.memory}, c)
		var got time.Duration
		if at := OutOfMemoryAt(pod, &c, usageNow); !at.IsZero() {
			got = at.Sub(usageNow)
		}
		if got != tt.want {
			t.Errorf("%s: after %v, want %v", tt.name, got, tt.want)
		}
	}
}
