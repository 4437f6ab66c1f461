package decide_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm/controllers/internal/resourcequota/decide"
)

// amounts parses pairs such as "pods", "1", "cpu", "100m".
func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func TestDecide(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		spec, hard, used, seen corev1.ResourceList
		want                   *corev1.ResourceQuotaStatus
	}{
		{name: "new", spec: amounts("pods", "2"), seen: amounts("pods", "1"), want: &corev1.ResourceQuotaStatus{Hard: amounts("pods", "2"), Used: amounts("pods", "1")}},
		{name: "right", spec: amounts("pods", "2"), hard: amounts("pods", "2"), used: amounts("pods", "1"), seen: amounts("pods", "1")},
		{
			name: "given back", spec: amounts("pods", "2"), hard: amounts("pods", "2"), used: amounts("pods", "1"), seen: amounts("pods", "0"),
			want: &corev1.ResourceQuotaStatus{Hard: amounts("pods", "2"), Used: amounts("pods", "0")},
		},
		{
			name: "other limits", spec: amounts("cpu", "2"), hard: amounts("pods", "2"), used: amounts("pods", "1"), seen: amounts("cpu", "1"),
			want: &corev1.ResourceQuotaStatus{Hard: amounts("cpu", "2"), Used: amounts("cpu", "1")},
		},
		{
			name: "what cannot be counted stays", spec: amounts("pods", "2", "example.com/x", "1"), hard: amounts("pods", "2"),
			used: amounts("pods", "1", "example.com/x", "1"), seen: amounts("pods", "1"),
			want: &corev1.ResourceQuotaStatus{Hard: amounts("pods", "2", "example.com/x", "1"), Used: amounts("pods", "1", "example.com/x", "1")},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			quota := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: tc.spec}, Status: corev1.ResourceQuotaStatus{Hard: tc.hard, Used: tc.used}}
			got := decide.Quota(decide.Snapshot{Quota: quota, Usage: tc.seen}, time.Time{})
			if diff := cmp.Diff(tc.want, got.Status); diff != "" {
				t.Error(diff)
			}
		})
	}
}
