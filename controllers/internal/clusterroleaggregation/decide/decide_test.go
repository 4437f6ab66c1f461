package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/clusterroleaggregation/decide"
)

func rule(verb string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}}
}

func role(name, label string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: "true"}}, Rules: rules}
}

// gathering returns a role that gathers the roles with the labels.
func gathering(name string, labels []string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	r := role(name, "to-self", rules...)
	r.AggregationRule = &rbacv1.AggregationRule{}
	for _, label := range labels {
		r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, metav1.LabelSelector{MatchLabels: map[string]string{label: "true"}})
	}
	return r
}

func TestRules(t *testing.T) {
	broken := gathering("broken", nil)
	broken.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}}
	all := []*rbacv1.ClusterRole{
		role("c", "to-view", rule("watch")), role("b", "to-view", rule("get"), rule("list")), role("d", "to-edit", rule("get"), rule("update")), role("e", "other", rule("delete")),
	}
	for name, test := range map[string]struct {
		role    *rbacv1.ClusterRole
		want    []rbacv1.PolicyRule
		changed bool
		fails   bool
	}{
		"no aggregation rule":  {role: role("a", "to-view", rule("get"))},
		"in the order of name": {role: gathering("a", []string{"to-view"}), want: []rbacv1.PolicyRule{rule("get"), rule("list"), rule("watch")}, changed: true},
		"nothing to do":        {role: gathering("a", []string{"to-view"}, rule("get"), rule("list"), rule("watch")), want: []rbacv1.PolicyRule{rule("get"), rule("list"), rule("watch")}},
		"each rule once":       {role: gathering("a", []string{"to-edit", "to-view"}), want: []rbacv1.PolicyRule{rule("get"), rule("update"), rule("list"), rule("watch")}, changed: true},
		"not from itself":      {role: gathering("a", []string{"to-self"}, rule("get")), want: []rbacv1.PolicyRule{}, changed: true},
		"nothing selected":     {role: gathering("a", []string{"none"}), want: []rbacv1.PolicyRule{}},
		"a bad selector":       {role: broken, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, changed, err := decide.Rules(test.role, append(all, test.role))
			if diff := cmp.Diff(test.want, got); diff != "" || changed != test.changed || (err != nil) != test.fails {
				t.Errorf("changed %v, %v: %s", changed, err, diff)
			}
		})
	}
}
