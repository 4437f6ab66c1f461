package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"minikcm.dev/minikcm/apiserver/auth"
)

// grants are what the bindings of one subject allow.
type grants struct {
	// everywhere is what ClusterRoleBindings allow, namespaces what RoleBindings do.
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

// target is a resource as a rule names it. "*" is a wildcard; that for resources includes
// all subresources, and "*/scale" stands for that subresource of all resources.
type target struct{ group, resource, subresource string }

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
		for _, name := range rule.Resources {
			resource, subresource, _ := strings.Cut(name, "/")
			if name == rbacv1.ResourceAll {
				subresource = rbacv1.ResourceAll
			}
			t := target{group, resource, subresource}
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
	for _, group := range [...]string{a.Group, rbacv1.APIGroupAll} {
		if reason, ok := s.allowsTarget(a, target{group, a.Plural, a.Subresource}); ok {
			return reason, true
		}
		if reason, ok := s.allowsTarget(a, target{group, rbacv1.ResourceAll, rbacv1.ResourceAll}); ok {
			return reason, true
		}
		if a.Subresource == "" {
			continue
		}
		if reason, ok := s.allowsTarget(a, target{group, rbacv1.ResourceAll, a.Subresource}); ok {
			return reason, true
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
