package auth

import (
	"context"
	"slices"
	"strings"
)

// Decision is the result of an Authorizer.
type Decision int

// The decisions. NoOpinion leaves the decision to other authorizers; if none allows the
// request, it is denied.
const (
	NoOpinion Decision = iota
	Allow
	Deny
)

// Attributes are the attributes of a request that is to be authorized.
type Attributes struct {
	User *User
	// Verb is one of the API's verbs or, for a path, the lower-case method.
	Verb string
	// Resource reports that the request is for a resource, which the fields below
	// identify; otherwise only Path is set.
	Resource    bool
	Group       string
	Version     string
	Plural      string
	Subresource string
	Namespace   string
	Name        string
	Path        string
	// FieldSelector and LabelSelector are the selectors of a list, a watch or a
	// deletecollection, as the client sent them.
	FieldSelector, LabelSelector string
}

// Rules lists the requests that a user may make in a namespace. If Incomplete is set they may
// be too few; the error says why.
type Rules struct {
	Resources  []ResourceRule
	Paths      []PathRule
	Incomplete bool
}

// ResourceRule allows verbs on resources; "*" matches all. Empty Names match all names.
type ResourceRule struct{ Verbs, Groups, Resources, Names []string }

// PathRule allows verbs on non-resource paths; "*" matches all and, at the end of a
// path, every continuation.
type PathRule struct{ Verbs, Paths []string }

// Authorizer decides what users may do. The server calls it for every request, and for
// the reviews of authorization.k8s.io.
type Authorizer interface {
	// Authorize decides about a request; reason is for people. The decision is valid
	// even with an error.
	Authorize(ctx context.Context, a Attributes) (decision Decision, reason string, err error)
	// RulesFor returns the permissions of a user in a namespace.
	RulesFor(ctx context.Context, user *User, namespace string) (Rules, error)
}

// AlwaysAllow allows authenticated users everything, and anonymous users to read what
// upstream's role system:public-info-viewer allows.
type AlwaysAllow struct{}

func publicPaths() []string { return []string{"/healthz", "/livez", "/readyz", "/version"} }

// Authorize implements Authorizer.
func (AlwaysAllow) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	if !a.User.IsAnonymous() {
		return Allow, "", nil
	}
	if !a.Resource && a.Verb == "get" && slices.ContainsFunc(publicPaths(), func(p string) bool { return a.Path == p || strings.HasPrefix(a.Path, p+"/") }) {
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}

// RulesFor implements Authorizer.
func (AlwaysAllow) RulesFor(_ context.Context, user *User, _ string) (Rules, error) {
	if !user.IsAnonymous() {
		all := []string{"*"}
		return Rules{Resources: []ResourceRule{{Verbs: all, Groups: all, Resources: all}}, Paths: []PathRule{{Verbs: all, Paths: all}}}, nil
	}
	var paths []string
	for _, p := range publicPaths() {
		paths = append(paths, p, p+"/*")
	}
	return Rules{Paths: []PathRule{{Verbs: []string{"get"}, Paths: paths}}}, nil
}
