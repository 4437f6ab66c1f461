package resources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLabelKeys(t *testing.T) {
	own := map[string]string{"version": "2", "app": "web"}
	for _, tt := range []struct {
		name            string
		selector        *metav1.LabelSelector
		match, mismatch []string
		want            string
	}{
		{name: "resolved", selector: &metav1.LabelSelector{}, match: []string{"version", "absent"}, mismatch: []string{"app"}, want: "app notin (web),version in (2)"},
		{name: "beside others", selector: metav1.SetAsLabelSelector(map[string]string{"tier": "1"}), match: []string{"version"}, want: "tier=1,version in (2)"},
		{name: "no selector", match: []string{"version"}, want: "<none>"},
		{
			name: "named by the selector too", selector: metav1.SetAsLabelSelector(map[string]string{"version": "1"}), match: []string{"version"},
			want: "version=1,version in (2)",
		},
		{name: "a mismatched one may be", selector: metav1.SetAsLabelSelector(map[string]string{"app": "db"}), mismatch: []string{"app"}, want: "app=db,app notin (web)"},
		{name: "in both", selector: &metav1.LabelSelector{}, match: []string{"absent"}, mismatch: []string{"absent"}, want: "<none>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: own}, Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: corev1.PodAffinityTerm{
					LabelSelector: tt.selector, MatchLabelKeys: tt.match, MismatchLabelKeys: tt.mismatch,
				}}},
			}}}}
			resolveLabelKeys(pod)
			if got := metav1.FormatLabelSelector(podTerms(pod.Spec.Affinity)[0].LabelSelector); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
