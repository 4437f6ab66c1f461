package leastprivilege

import (
	"cmp"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Options says how roles are made.
type Options struct {
	// Name is the name of the roles.
	Name string
	// Home is the user's own namespace, such as the namespace of an operator's service
	// account. Requests that were made only there become a Role there. Empty means that the
	// user has none: requests in a single namespace then become a Role in it.
	Home string
	// Exact makes a Role in each namespace. Without it, a resource that was asked for in
	// other namespaces than Home, or in all, is allowed in all namespaces.
	Exact bool
	// Names restricts rules to the names of objects where each request had one.
	Names bool
}

// Roles returns the smallest roles that cover the requests: a ClusterRole, or nil, and the
// Roles by namespace.
func Roles(requests []Request, o Options) (*rbacv1.ClusterRole, []*rbacv1.Role) {
	everywhere, in := o.place(requests)
	var clusterRole *rbacv1.ClusterRole
	if rules := rulesFor(everywhere, o.Names); len(rules) > 0 {
		clusterRole = &rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: o.Name}, Rules: rules,
		}
	}
	var roles []*rbacv1.Role
	for _, namespace := range slices.Sorted(maps.Keys(in)) {
		rules := rulesFor(in[namespace], o.Names)
		if len(rules) == 0 {
			continue
		}
		roles = append(roles, &rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: namespace}, Rules: rules,
		})
	}
	return clusterRole, roles
}

// place divides the requests between a ClusterRole and the Roles that allow them.
func (o *Options) place(requests []Request) (everywhere []Request, in map[string][]Request) {
	home := o.Home
	if home == "" {
		home = onlyNamespace(requests)
	}
	wide := map[kind]bool{} // asked for elsewhere than in home
	for i := range requests {
		if r := &requests[i]; r.Path == "" && r.Namespace != home {
			wide[kind{r.Group, r.Resource}] = true
			wide[kind{r.Group, mainResource(r.Resource)}] = true
		}
	}
	in = map[string][]Request{}
	for _, r := range requests {
		local := r.Namespace != "" && (o.Exact || !wide[kind{r.Group, r.Resource}] && !wide[kind{r.Group, mainResource(r.Resource)}])
		if local {
			in[r.Namespace] = append(in[r.Namespace], r)
		} else {
			everywhere = append(everywhere, r)
		}
	}
	for namespace, local := range in { // what the ClusterRole allows already
		in[namespace] = slices.DeleteFunc(local, func(r Request) bool {
			return slices.ContainsFunc(everywhere, func(wider Request) bool { return wider.covers(&r) })
		})
	}
	return everywhere, in
}

// onlyNamespace returns the namespace of all requests that have one; empty if there are
// several.
func onlyNamespace(requests []Request) string {
	only := ""
	for i := range requests {
		switch namespace := requests[i].Namespace; {
		case namespace == "" || namespace == only:
		case only != "":
			return ""
		default:
			only = namespace
		}
	}
	return only
}

// covers reports whether the permission for r in all namespaces includes other.
func (r *Request) covers(other *Request) bool {
	return r.Verb == other.Verb && r.Group == other.Group && r.Resource == other.Resource && r.Path == other.Path && len(r.Names) == 0
}

// target identifies the resources, or the path, on which one rule allows verbs.
type target struct {
	kind
	path string
	// names is a set in its printed form; empty for all names.
	names string
}

// rulesFor returns rules for requests whose namespaces do not matter any more. Resources
// of one group with the same verbs are one rule.
func rulesFor(requests []Request, useNames bool) []rbacv1.PolicyRule {
	allowed, names := collect(requests, useNames)
	dropCovered(allowed)
	var rules []rbacv1.PolicyRule
	targets := slices.SortedFunc(maps.Keys(allowed), func(a, b target) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.names, b.names))
	})
	for _, t := range targets {
		verbs := slices.SortedFunc(maps.Keys(allowed[t]), compareVerbs)
		if len(verbs) == 0 {
			continue
		}
		if t.path != "" {
			rules = addPath(rules, t.path, verbs)
			continue
		}
		same := slices.IndexFunc(rules, func(r rbacv1.PolicyRule) bool {
			return len(r.APIGroups) == 1 && r.APIGroups[0] == t.group && slices.Equal(r.Verbs, verbs) && slices.Equal(r.ResourceNames, names[t])
		})
		if same >= 0 {
			rules[same].Resources = append(rules[same].Resources, t.resource)
			continue
		}
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{t.group}, Resources: []string{t.resource}, ResourceNames: names[t], Verbs: verbs})
	}
	return rules
}

func addPath(rules []rbacv1.PolicyRule, path string, verbs []string) []rbacv1.PolicyRule {
	for i := range rules {
		if len(rules[i].NonResourceURLs) > 0 && slices.Equal(rules[i].Verbs, verbs) {
			rules[i].NonResourceURLs = append(rules[i].NonResourceURLs, path)
			return rules
		}
	}
	return append(rules, rbacv1.PolicyRule{NonResourceURLs: []string{path}, Verbs: verbs})
}

// collect returns the verbs by target, and the names of the targets that have some.
func collect(requests []Request, useNames bool) (map[target]map[string]bool, map[target][]string) {
	type action struct {
		kind
		verb string
	}
	named := map[action][]string{} // an absent action is not restricted by name
	for i := range requests {
		r := &requests[i]
		a := action{kind{r.Group, r.Resource}, r.Verb}
		known, seen := named[a]
		switch {
		case !useNames || len(r.Names) == 0 || seen && known == nil:
			named[a] = nil
		default:
			named[a] = append(known, r.Names...)
		}
	}
	allowed, names := map[target]map[string]bool{}, map[target][]string{}
	for i := range requests {
		r := &requests[i]
		t := target{kind: kind{r.Group, r.Resource}, path: r.Path}
		if only := named[action{t.kind, r.Verb}]; r.Path == "" && only != nil {
			slices.Sort(only)
			only = slices.Compact(only)
			t.names = joined(only)
			names[t] = only
		}
		if allowed[t] == nil {
			allowed[t] = map[string]bool{}
		}
		allowed[t][r.Verb] = true
	}
	return allowed, names
}

// joined returns a text that differs for different lists of names.
func joined(names []string) string {
	text := ""
	for _, name := range names {
		text += name + "/" // a name contains no slash
	}
	return text
}

// dropCovered removes permissions that a wildcard includes.
func dropCovered(allowed map[target]map[string]bool) {
	for t, verbs := range allowed {
		for verb := range verbs {
			for other, wider := range allowed {
				if (other != t && other.includes(t) && (wider[verb] || wider["*"])) || (other == t && verb != "*" && wider["*"]) {
					delete(verbs, verb)
					break
				}
			}
		}
	}
}

// includes reports whether permission for t implies permission for other.
func (t target) includes(other target) bool {
	if t.path != "" || other.path != "" || t.names != "" && t.names != other.names {
		return false
	}
	return (t.group == other.group || t.group == "*") && (t.resource == other.resource || t.resource == "*")
}
