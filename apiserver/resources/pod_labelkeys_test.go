package resources

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestLabelKeys(t *testing.T) {
	p := field.NewPath("term")
	own := map[string]string{"version": "2", "app": "web"}
	for _, tt := range []struct {
		name            string
		selector        *metav1.LabelSelector
		match, mismatch []string
		want            string // the selector, then the errors
	}{
		{name: "resolved", selector: &metav1.LabelSelector{}, match: []string{"version", "absent"}, mismatch: []string{"app"}, want: "app notin (web),version in (2)"},
		{name: "beside others", selector: metav1.SetAsLabelSelector(map[string]string{"tier": "1"}), match: []string{"version"}, want: "tier=1,version in (2)"},
		{name: "no selector", match: []string{"version"}, want: "<none> term.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"},
		{
			name: "named by the selector too", selector: metav1.SetAsLabelSelector(map[string]string{"version": "1"}), match: []string{"version"},
			want: `version=1,version in (2) term[0]: Invalid value: "version": exists in both matchLabelKeys and labelSelector`,
		},
		{name: "a mismatched one may be", selector: metav1.SetAsLabelSelector(map[string]string{"app": "db"}), mismatch: []string{"app"}, want: "app=db,app notin (web)"},
		{
			name: "in both", selector: &metav1.LabelSelector{}, match: []string{"absent"}, mismatch: []string{"absent"},
			want: `<none> term.matchLabelKeys[0]: Invalid value: "absent": exists in both matchLabelKeys and mismatchLabelKeys`,
		},
		{name: "not a label", selector: &metav1.LabelSelector{}, mismatch: []string{"-"}, want: `<none> term.mismatchLabelKeys[0]: Invalid value: "-": name part must consist of`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: own}, Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: corev1.PodAffinityTerm{
					LabelSelector: tt.selector, MatchLabelKeys: tt.match, MismatchLabelKeys: tt.mismatch,
				}}},
			}}}}
			resolveLabelKeys(pod)
			term := podTerms(pod.Spec.Affinity)[0]
			got := metav1.FormatLabelSelector(term.LabelSelector)
			for _, err := range validateLabelKeys(p, term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys) {
				got += fmt.Sprint(" ", err)
			}
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
