package validation

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestLabelKeys validates terms whose keys have been resolved into their selectors.
func TestLabelKeys(t *testing.T) {
	resolved := func(labels map[string]string, key string, operator metav1.LabelSelectorOperator, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{
			MatchLabels: labels, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: []string{value}}},
		}
	}
	in, notIn := metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn
	for _, tt := range []struct {
		name            string
		selector        *metav1.LabelSelector
		match, mismatch []string
		want            string
	}{
		{name: "resolved", selector: resolved(nil, "version", in, "2"), match: []string{"version", "absent"}},
		{name: "beside others", selector: resolved(map[string]string{"tier": "1"}, "version", in, "2"), match: []string{"version"}},
		{name: "no selector", match: []string{"version"}, want: "term.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"},
		{
			name: "named by the selector too", selector: resolved(map[string]string{"version": "1"}, "version", in, "2"), match: []string{"version"},
			want: `term[0]: Invalid value: "version": exists in both matchLabelKeys and labelSelector`,
		},
		{name: "a mismatched one may be", selector: resolved(map[string]string{"app": "db"}, "app", notIn, "web"), mismatch: []string{"app"}},
		{
			name: "in both", selector: &metav1.LabelSelector{}, match: []string{"absent"}, mismatch: []string{"absent"},
			want: `term.matchLabelKeys[0]: Invalid value: "absent": exists in both matchLabelKeys and mismatchLabelKeys`,
		},
		{name: "not a label", selector: &metav1.LabelSelector{}, mismatch: []string{"-"}, want: `term.mismatchLabelKeys[0]: Invalid value: "-": name part must consist of`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			for _, err := range validateLabelKeys(field.NewPath("term"), tt.selector, tt.match, tt.mismatch) {
				got += fmt.Sprint(err)
			}
			if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
