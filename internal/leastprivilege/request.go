package leastprivilege

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Request is a user's request to an authorizer. Requests for the objects of a resource that
// differ only in the object's name are one Request.
type Request struct {
	// Verb is one of the API's verbs or, for a path, the lower-case method.
	Verb string `json:"verb"`
	// Group and Resource are written as in rules: a subresource is "pods/log". Both are empty
	// for a path.
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource,omitempty"`
	// Namespace is empty for cluster-scoped resources, and for requests in all namespaces.
	Namespace string `json:"namespace,omitempty"`
	// Names are the names of the objects; empty if a request named none, or if there were
	// too many.
	Names []string `json:"names,omitempty"`
	Path  string   `json:"path,omitempty"`
	// Denied reports that the user's roles did not allow the request.
	Denied bool `json:"denied,omitempty"`
	// Granted reports that the user did not make the request, but granted the permission to
	// others in a role or binding, which requires that the user holds it.
	Granted bool `json:"granted,omitempty"`
}

// kind identifies a resource as rules name it.
type kind struct{ group, resource string }

// matches reports whether a rule in scope of a namespace (empty for all) allows the
// request, at least for one name.
func (r *Request) matches(namespace string, rule *rbacv1.PolicyRule) bool {
	if namespace != "" && namespace != r.Namespace {
		return false
	}
	if !has(rule.Verbs, r.Verb) {
		return false
	}
	if r.Path != "" {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, wild := strings.CutSuffix(url, "*")
			return url == r.Path || wild && strings.HasPrefix(r.Path, prefix)
		})
	}
	if !has(rule.APIGroups, r.Group) || !slices.ContainsFunc(rule.Resources, r.isNamedBy) {
		return false
	}
	return len(rule.ResourceNames) == 0 || slices.ContainsFunc(r.Names, func(name string) bool { return slices.Contains(rule.ResourceNames, name) })
}

// isNamedBy reports whether a resource of a rule includes the request's resource.
func (r *Request) isNamedBy(resource string) bool {
	if resource == r.Resource || resource == rbacv1.ResourceAll {
		return true
	}
	_, sub, _ := strings.Cut(r.Resource, "/")
	return sub != "" && resource == "*/"+sub
}

// String describes a request as in "get pods/log in default".
func (r *Request) String() string {
	if r.Path != "" {
		return r.Verb + " " + r.Path
	}
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		main, sub, isSub := strings.Cut(r.Resource, "/")
		text = r.Verb + " " + main + "." + r.Group
		if isSub {
			text += "/" + sub
		}
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// Compare orders requests for people: by path, resource, verb and namespace.
func Compare(a, b Request) int {
	return cmp.Or(
		cmp.Compare(a.Path, b.Path), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
		compareVerbs(a.Verb, b.Verb), cmp.Compare(a.Namespace, b.Namespace), slices.Compare(a.Names, b.Names),
	)
}

// verbs are the API's verbs in the order in which roles list them.
var verbs = []string{rbacv1.VerbAll, "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

func compareVerbs(a, b string) int {
	rank := func(verb string) int {
		if i := slices.Index(verbs, verb); i >= 0 {
			return i
		}
		return len(verbs)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

func has(values []string, wanted string) bool {
	return slices.Contains(values, wanted) || slices.Contains(values, "*")
}
