package auth

import (
	"context"
	"slices"
	"strings"
)

// Decision is an Authorizer's answer.
type Decision int

// NoOpinion leaves the decision to others and, if nobody allows it, is a refusal.
const (
	NoOpinion Decision = iota
	Allow
	Deny
)

// Attributes are what a request is decided by.
type Attributes struct {
	User *User
	// Verb is one of the API's, or of a path the lower-case method.
	Verb string
	// Resource says that the request is for a resource, which the fields beneath
	// name; otherwise Path is all there is.
	Resource    bool
	Group       string
	Version     string
	Plural      string
	Subresource string
	Namespace   string
	Name        string
	Path        string
}

// Rules are what a user may do in a namespace. They may say too little (Incomplete),
// for reasons that an error tells.
type Rules struct {
	Resources  []ResourceRule
	Paths      []PathRule
	Incomplete bool
}

// ResourceRule allows verbs on resources; "*" is all of them. No names are all names.
type ResourceRule struct{ Verbs, Groups, Resources, Names []string }

// PathRule allows verbs on paths that are no resources; "*" is all of them, at the end
// of a path whatever begins with it.
type PathRule struct{ Verbs, Paths []string }

// Authorizer says what users may do. It is asked about every request, and by the
// reviews of authorization.k8s.io about any.
type Authorizer interface {
	// Authorize decides; the reason is for people. With an error the decision holds
	// all the same.
	Authorize(ctx context.Context, a Attributes) (decision Decision, reason string, err error)
	// RulesFor says what a user may do in a namespace.
	RulesFor(ctx context.Context, user *User, namespace string) (Rules, error)
}

// AlwaysAllow lets every authenticated user do everything, and anonymous ones read
// what anybody may, as by upstream's role system:public-info-viewer.
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
