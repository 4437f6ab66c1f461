package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	// impersonationPrefix is the prefix of all impersonation headers.
	impersonationPrefix = "Impersonate-"
	nodePrefix          = "system:node:"
	groupNodes          = "system:nodes"
)

// WantsImpersonation reports whether a request impersonates another user.
func WantsImpersonation(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(name, impersonationPrefix) {
			return true
		}
	}
	return false
}

// ReadImpersonation reads the user to impersonate from the headers (Kubernetes
// documentation, "User impersonation"), without the groups that follow from the name.
// It returns nil if there is none, and a BadRequest error for invalid headers.
func ReadImpersonation(header http.Header) (*User, error) {
	u := &User{
		Name: header.Get(authenticationv1.ImpersonateUserHeader), UID: header.Get(authenticationv1.ImpersonateUIDHeader),
		Groups: slices.Clone(header[authenticationv1.ImpersonateGroupHeader]),
	}
	extra := false
	for name, values := range header {
		key, isExtra := strings.CutPrefix(name, authenticationv1.ImpersonateUserExtraHeaderPrefix)
		if !isExtra {
			continue
		}
		extra = true
		if len(values) == 0 {
			continue
		}
		key = strings.ToLower(key)
		if unescaped, err := url.PathUnescape(key); err == nil {
			key = unescaped
		}
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[key] = append(u.Extra[key], values...)
	}
	if u.Name != "" {
		return u, nil
	}
	if len(u.Groups) > 0 || u.UID != "" || extra {
		asked := &user.DefaultInfo{UID: u.UID, Groups: u.Groups, Extra: u.Extra}
		return nil, apierrors.NewBadRequest(fmt.Sprintf("requested %#v without impersonating a user name", asked))
	}
	return nil, nil
}

// Impersonate returns the user that a request impersonates, if one of the modes of
// constrained impersonation (KEP-5284) or the older rule allows it. request has the
// attributes of the request with its authenticated user. It returns a Forbidden error
// otherwise. constraint is the verb of the mode that allows it, and empty for the older rule.
func Impersonate(ctx context.Context, authorizer Authorizer, request Attributes, wanted *User) (user *User, constraint string, err error) {
	var first error
	for _, m := range impersonationModes() {
		if !m.applies(wanted, request.User) {
			continue
		}
		err := m.allowed(ctx, authorizer, request, wanted)
		if err == nil {
			return m.become(wanted), m.constraint(), nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, "", first
}

// impersonationMode is one set of permissions that allows impersonation.
type impersonationMode struct {
	// name is empty for the older rule.
	name    string
	applies func(wanted, by *User) bool
}

// constraint returns the verb that the mode requires on the user to impersonate.
func (m impersonationMode) constraint() string {
	if m.name == "" {
		return ""
	}
	return "impersonate:" + m.name
}

// impersonationModes returns the modes in the order in which they are tried.
func impersonationModes() []impersonationMode {
	nameOnly := func(u *User) bool { return u.UID == "" && len(u.Groups) == 0 && len(u.Extra) == 0 }
	return []impersonationMode{
		{"associated-node", func(wanted, by *User) bool {
			node, ok := nodeOf(wanted)
			return ok && nameOnly(wanted) && isAccount(by) && slices.Equal(by.Extra[serviceaccount.NodeNameKey], []string{node})
		}},
		{"arbitrary-node", func(wanted, _ *User) bool {
			_, ok := nodeOf(wanted)
			return ok && nameOnly(wanted)
		}},
		{"serviceaccount", func(wanted, _ *User) bool { return nameOnly(wanted) && isAccount(wanted) }},
		{"user-info", func(wanted, _ *User) bool {
			_, ok := nodeOf(wanted)
			return !ok && !isAccount(wanted)
		}},
		{"", func(_, _ *User) bool { return true }},
	}
}

func nodeOf(u *User) (string, bool) {
	name, ok := strings.CutPrefix(u.Name, nodePrefix)
	return name, ok && len(apivalidation.NameIsDNSSubdomain(name, false)) == 0
}

func isAccount(u *User) bool {
	_, _, err := serviceaccount.SplitUsername(u.Name)
	return err == nil
}

// become adds the groups that follow from the user's name: the groups of service accounts and
// nodes, and GroupAuthenticated unless the user is anonymous.
func (m impersonationMode) become(wanted *User) *User {
	u := *wanted
	u.Groups = slices.Clone(u.Groups)
	if namespace, _, err := serviceaccount.SplitUsername(u.Name); err == nil && len(u.Groups) == 0 {
		u.Groups = AccountGroups(namespace)
	}
	if _, ok := nodeOf(&u); ok && m.name != "" {
		u.Groups = []string{groupNodes}
	}
	switch {
	case u.Name == UserAnonymous:
		u.Groups = withGroup(u.Groups, GroupUnauthenticated)
	case !slices.Contains(u.Groups, GroupUnauthenticated):
		u.Groups = withGroup(u.Groups, GroupAuthenticated)
	}
	return &u
}

func withGroup(groups []string, group string) []string {
	if slices.Contains(groups, group) {
		return groups
	}
	return append(groups, group)
}

// allowed checks all permissions that the mode requires.
func (m impersonationMode) allowed(ctx context.Context, authorizer Authorizer, request Attributes, wanted *User) error {
	if m.name != "" {
		request.Verb = "impersonate-on:" + m.name + ":" + request.Verb
		if err := m.check(ctx, authorizer, request); err != nil {
			return err
		}
	}
	for _, ask := range m.asks(request.User, wanted) {
		if m.name != "" {
			if err := m.forbids(ask); err != nil {
				return err
			}
		}
		if err := m.check(ctx, authorizer, ask); err != nil {
			return err
		}
	}
	return nil
}

// check checks one permission. For the mode associated-node it replaces the user's extra fields,
// which name the node, by their keys, because the permission applies to every node.
func (m impersonationMode) check(ctx context.Context, authorizer Authorizer, a Attributes) error {
	if m.name == "associated-node" {
		by := *a.User
		var keys []string
		for key := range by.Extra {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		by.Extra = map[string][]string{"authentication.kubernetes.io/associated-node-keys": keys}
		a.User = &by
	}
	decision, reason, err := authorizer.Authorize(ctx, a)
	if decision == Allow {
		return nil
	}
	if err != nil {
		reason = strings.TrimSuffix(err.Error()+": "+reason, ": ")
	}
	return Forbidden(a, reason)
}

// forbids returns an error for impersonations that only the older rule may allow.
func (impersonationMode) forbids(a Attributes) error {
	switch {
	case a.Plural == "groups" && a.Name == "":
		return Forbidden(a, "impersonating the empty string group is not allowed")
	case a.Plural == "groups" && a.Name == GroupMasters:
		return Forbidden(a, "impersonating the system:masters group is not allowed")
	case a.Plural == "userextras" && a.Subresource == "":
		return Forbidden(a, "impersonating the empty string key in extra is not allowed")
	case a.Plural == "userextras" && a.Name == "":
		return Forbidden(a, "impersonating the empty string value in extra is not allowed")
	}
	return nil
}

// asks returns the permissions that impersonating wanted requires; each is checked
// separately.
func (m impersonationMode) asks(by, wanted *User) []Attributes {
	verb, group, version := "impersonate", "", "v1"
	own := authenticationv1.SchemeGroupVersion
	if m.name != "" {
		verb, group, version = "impersonate:"+m.name, own.Group, own.Version
	}
	base := Attributes{User: by, Verb: verb, Resource: true, Group: group, Version: version}
	subject := base
	subject.Plural, subject.Name = "users", wanted.Name
	if namespace, name, err := serviceaccount.SplitUsername(wanted.Name); err == nil {
		subject.Plural, subject.Namespace, subject.Name = "serviceaccounts", namespace, name
	} else if node, ok := nodeOf(wanted); ok && m.name != "" {
		subject.Plural, subject.Name = "nodes", node
		if m.name == "associated-node" {
			subject.Name = "*"
		}
	}
	asks := []Attributes{subject}
	add := func(base Attributes, plural, subresource, name string) {
		base.Plural, base.Subresource, base.Name = plural, subresource, name
		asks = append(asks, base)
	}
	ownBase := base
	ownBase.Group, ownBase.Version = own.Group, own.Version
	if wanted.UID != "" {
		add(ownBase, "uids", "", wanted.UID)
	}
	for _, name := range wanted.Groups {
		add(base, "groups", "", name)
	}
	for key, values := range wanted.Extra {
		for _, value := range values {
			add(ownBase, "userextras", key, value)
		}
	}
	return asks
}
