package usage

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestCounters: a container is throttled while it would use more than its limit, unless others leave
// it less than that.
func TestCounters(t *testing.T) {
	tests := []struct {
		name, limit, asks, node string
		want                    string
	}{
		{"no limit", "", "3", "8", "used 3m0s"},
		{"within", "2", "1500m", "8", "used 1m30s, 0 of 600 periods throttled, 0s"},
		{"at its limit", "2", "2", "8", "used 2m0s, 0 of 600 periods throttled, 0s"},
		{"beyond, one thread", "500m", "1", "8", "used 30s, 600 of 600 periods throttled, 30s"},
		{"beyond, several threads", "1", "4", "8", "used 1m0s, 600 of 600 periods throttled, 3m0s"},
		{"beyond, part of a thread", "200m", "800m", "8", "used 12s, 600 of 600 periods throttled, 45s"},
		{"squeezed below its limit", "2", "4", "1", "used 1m0s, 0 of 600 periods throttled, 0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := corev1.Container{Name: "c"}
			if tt.limit != "" {
				spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(tt.limit)}
			}
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{spec}}}
			pod.Annotations = map[string]string{AnnotationCPU: tt.asks}
			now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
			used := [][]Container{{Model{}.container(pod, &spec, nil, now.Add(-time.Hour), now)}}
			ShareCPU(resource.MustParse(tt.node), used)
			var c Counters
			for range 24 {
				c.Add(2500*time.Millisecond, &used[0][0])
			}
			got := fmt.Sprintf("used %v", c.CPU.Round(time.Millisecond))
			if c.Limited {
				got += fmt.Sprintf(", %d of %d periods throttled, %v", c.Throttled, c.Periods, c.ThrottledTime.Round(time.Millisecond))
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
