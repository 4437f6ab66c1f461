package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"minikcm.dev/minikcm/internal/auth"
)

// Rules decide by fixed rules, without bindings.
type Rules struct{ scope scope }

// NewRules returns the Rules of a policy.
func NewRules(policy []rbacv1.PolicyRule) *Rules {
	r := &Rules{}
	for i := range policy {
		r.scope.add(&policy[i], "")
	}
	return r
}

// Allow reports whether a rule allows a request.
func (r *Rules) Allow(a *auth.Attributes) bool {
	_, ok := r.scope.allows(a)
	return ok
}
