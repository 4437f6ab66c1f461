package decide

import (
	"cmp"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Rules returns the rules that the role gathers from all ClusterRoles, and whether they differ from
// those that it has. The rules are ordered by selector, then by the name of the selected role; a
// rule occurs once. A role without an aggregation rule does not change. It returns an error for a
// selector that cannot be used.
func Rules(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) (gathered []rbacv1.PolicyRule, changed bool, err error) {
	if role.AggregationRule == nil {
		return nil, false, nil
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
	gathered = []rbacv1.PolicyRule{}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, false, fmt.Errorf("reading selector %d of cluster role %s: %w", i, role.Name, err)
		}
		for _, other := range sorted {
			if other.Name == role.Name || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			for _, rule := range other.Rules {
				if !slices.ContainsFunc(gathered, func(r rbacv1.PolicyRule) bool { return apiequality.Semantic.DeepEqual(r, rule) }) {
					gathered = append(gathered, rule)
				}
			}
		}
	}
	return gathered, !apiequality.Semantic.DeepEqual(gathered, role.Rules), nil
}
