package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"minikcm.dev/minikcm/internal/auth"
)

// grants holds the rules that the bindings of one subject grant.
type grants struct {
	// everywhere has the rules that ClusterRoleBindings grant, namespaces the rules that
	// RoleBindings grant.
	everywhere scope
	namespaces map[string]*scope
}

// scope has the rules that apply in one namespace, or in all.
type scope struct {
	resources map[target][]grant
	paths     []grant
	// missing are the errors for bindings whose role does not exist.
	missing []error
}

// target is a resource as a rule names it: "pods" and "pods/log" are two. "*" is a wildcard. As a
// resource it includes all subresources, and "*/scale" stands for the subresource scale of all
// resources.
type target struct{ group, resource string }

// grant is a rule of a bound role.
type grant struct {
	rule *rbacv1.PolicyRule
	// reason names the binding.
	reason string
}

func (s *scope) add(rule *rbacv1.PolicyRule, reason string) {
	g := grant{rule, reason}
	if len(rule.NonResourceURLs) > 0 {
		s.paths = append(s.paths, g)
	}
	if s.resources == nil {
		s.resources = map[target][]grant{}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			t := target{group, resource}
			s.resources[t] = append(s.resources[t], g)
		}
	}
}

// allows returns why the scope's rules allow a request.
func (s *scope) allows(a *auth.Attributes) (reason string, ok bool) {
	if !a.Resource {
		for i := range s.paths {
			if allowsVerb(s.paths[i].rule, a.Verb) && allowsPath(s.paths[i].rule, a.Path) {
				return s.paths[i].reason, true
			}
		}
		return "", false
	}
	// An access review may also ask for the resource "pods/log" without a subresource: a rule has
	// to name it in full then.
	named, ofAll := a.Plural, rbacv1.ResourceAll
	if a.Subresource != "" {
		named, ofAll = a.Plural+"/"+a.Subresource, rbacv1.ResourceAll+"/"+a.Subresource
	}
	for _, group := range [...]string{a.Group, rbacv1.APIGroupAll} {
		for _, resource := range [...]string{named, rbacv1.ResourceAll, ofAll} {
			if reason, ok := s.allowsTarget(a, target{group, resource}); ok {
				return reason, true
			}
		}
	}
	return "", false
}

func (s *scope) allowsTarget(a *auth.Attributes, t target) (reason string, ok bool) {
	granted := s.resources[t]
	for i := range granted {
		if allowsVerb(granted[i].rule, a.Verb) && allowsName(granted[i].rule, a.Name) {
			return granted[i].reason, true
		}
	}
	return "", false
}

func allowsVerb(rule *rbacv1.PolicyRule, verb string) bool {
	return slices.Contains(rule.Verbs, verb) || slices.Contains(rule.Verbs, rbacv1.VerbAll)
}

func allowsName(rule *rbacv1.PolicyRule, name string) bool {
	return len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name)
}

func allowsPath(rule *rbacv1.PolicyRule, path string) bool {
	for _, allowed := range rule.NonResourceURLs {
		if allowed == path || allowed == rbacv1.NonResourceAll {
			return true
		}
		if prefix, ok := strings.CutSuffix(allowed, "*"); ok && strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
