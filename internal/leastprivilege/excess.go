package leastprivilege

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Grant is a role that a user is bound to.
type Grant struct {
	// Role describes the role, as in "ClusterRole manager".
	Role string
	// Namespace is where the role applies; empty means in all namespaces.
	Namespace string
	Rules     []rbacv1.PolicyRule
}

// Excess is the part of a role's rule that no request needed.
type Excess struct {
	Role string
	// Rule has the verbs that were not used on the resources or paths.
	Rule rbacv1.PolicyRule
	// Used lists the requests that used a rule with wildcards, which allows more than them.
	Used []string
}

// Beyond returns the permissions that grants have beyond requests, in the order of the grants' rules.
func Beyond(grants []Grant, requests []Request) []Excess {
	var all []Excess
	for i := range grants {
		g := &grants[i]
		for j := range g.Rules {
			all = append(all, g.excess(&g.Rules[j], requests)...)
		}
	}
	return all
}

// excess returns the permissions that a rule has beyond requests. It looks at each combination of group,
// resource and verb, since a rule allows all of them.
func (g *Grant) excess(rule *rbacv1.PolicyRule, requests []Request) []Excess {
	var found []Excess
	for _, single := range combinations(rule) {
		var used []string
		for i := range requests {
			if requests[i].matches(g.Namespace, &single) {
				used = append(used, requests[i].String())
			}
		}
		slices.Sort(used)
		used = slices.Compact(used)
		if len(used) > 0 && !wildcard(&single) {
			continue
		}
		found = merge(found, Excess{Role: g.Role, Rule: single, Used: used})
	}
	return found
}

// combinations returns a rule for each group, resource and verb, or path and verb, of a
// rule.
func combinations(rule *rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all = append(all, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: rule.ResourceNames, Verbs: []string{verb}})
			}
		}
	}
	for _, path := range rule.NonResourceURLs {
		for _, verb := range rule.Verbs {
			all = append(all, rbacv1.PolicyRule{NonResourceURLs: []string{path}, Verbs: []string{verb}})
		}
	}
	return all
}

func wildcard(rule *rbacv1.PolicyRule) bool {
	isWild := func(s string) bool { return strings.HasSuffix(s, "*") || strings.HasPrefix(s, "*/") }
	for _, values := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
		if slices.ContainsFunc(values, isWild) {
			return true
		}
	}
	return false
}

// merge adds the verbs of an Excess to the Excess of the same group and resource, or of the
// same path, with the same Used. Without one, it appends the Excess.
func merge(all []Excess, e Excess) []Excess {
	for i := range all {
		r := &all[i].Rule
		if slices.Equal(r.APIGroups, e.Rule.APIGroups) && slices.Equal(r.Resources, e.Rule.Resources) &&
			slices.Equal(r.NonResourceURLs, e.Rule.NonResourceURLs) && slices.Equal(all[i].Used, e.Used) {
			r.Verbs = append(r.Verbs, e.Rule.Verbs...)
			return all
		}
	}
	return append(all, e)
}

// String describes the excess in one line.
func (e *Excess) String() string {
	what := strings.Join(e.Rule.NonResourceURLs, ", ")
	if len(e.Rule.Resources) > 0 {
		what = e.Rule.Resources[0]
		if group := e.Rule.APIGroups[0]; group != "" {
			main, sub, isSub := strings.Cut(what, "/")
			what = main + "." + group
			if isSub {
				what += "/" + sub
			}
		}
	}
	text := strings.Join(e.Rule.Verbs, ", ") + " " + what
	if len(e.Rule.ResourceNames) > 0 {
		text += " named " + strings.Join(e.Rule.ResourceNames, ", ")
	}
	if len(e.Used) > 0 {
		text += "; used for " + strings.Join(e.Used, ", ")
	}
	return text
}

// mainResource returns the resource without its subresource.
func mainResource(resource string) string {
	main, _, _ := strings.Cut(resource, "/")
	return main
}

// Allowed reports whether grants allow a request for each of its names.
func Allowed(grants []Grant, request *Request) bool {
	names := [][]string{request.Names}
	if len(request.Names) > 1 {
		names = nil
		for _, name := range request.Names {
			names = append(names, []string{name})
		}
	}
	for _, one := range names {
		asked := *request
		asked.Names = one
		if !allowedBy(grants, &asked) {
			return false
		}
	}
	return true
}

func allowedBy(grants []Grant, request *Request) bool {
	for i := range grants {
		for j := range grants[i].Rules {
			if request.matches(grants[i].Namespace, &grants[i].Rules[j]) {
				return true
			}
		}
	}
	return false
}
