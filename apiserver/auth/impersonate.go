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
	// impersonationPrefix begins the names of all headers of impersonation.
	impersonationPrefix = "Impersonate-"
	nodePrefix          = "system:node:"
	groupNodes          = "system:nodes"
)

// WantsImpersonation reports whether a request acts as somebody else.
func WantsImpersonation(header http.Header) bool {
	for name := range header {
		if strings.HasPrefix(name, impersonationPrefix) {
			return true
		}
	}
	return false
}

// ReadImpersonation reads whom a request wants to act as from its headers (Kubernetes
// documentation, "User impersonation"), without the groups that follow from a name. Nil
// means that it acts as nobody else. The error is a bad request's.
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

// Impersonate returns whom a request acts as, if who makes it may act so: a mode of
// constrained impersonation (KEP-5284) or the older rule allows it. request is what is
// asked for, by its true user. The error is a Forbidden one.
func Impersonate(ctx context.Context, authorizer Authorizer, request Attributes, wanted *User) (*User, error) {
	var first error
	for _, m := range impersonationModes() {
		if !m.applies(wanted, request.User) {
			continue
		}
		err := m.allowed(ctx, authorizer, request, wanted)
		if err == nil {
			return m.become(wanted), nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// impersonationMode is one of the ways to be allowed to act as somebody.
type impersonationMode struct {
	// name is empty for the older rule.
	name    string
	applies func(wanted, by *User) bool
}

// impersonationModes are tried in order.
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

// become completes the user: service accounts and nodes have their groups, and all are
// authenticated but the anonymous one.
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

// allowed asks for all that the mode needs.
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

// check asks for one thing. The node that a service account's pod runs on is not named:
// what is allowed there is allowed for each.
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

// forbids refuses what only the older rule allows.
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

// asks are the permissions that acting as wanted needs, each for itself.
func (m impersonationMode) asks(by, wanted *User) []Attributes {
	verb, group, version := "impersonate", "", "v1"
	own := authenticationv1.SchemeGroupVersion
	if m.name != "" {
		verb, group, version = "impersonate:"+m.name, own.Group, own.Version
	}
	base := Attributes{User: by, Verb: verb, Resource: true, Group: group, Version: version}
	who := base
	who.Plural, who.Name = "users", wanted.Name
	if namespace, name, err := serviceaccount.SplitUsername(wanted.Name); err == nil {
		who.Plural, who.Namespace, who.Name = "serviceaccounts", namespace, name
	} else if node, ok := nodeOf(wanted); ok && m.name != "" {
		who.Plural, who.Name = "nodes", node
		if m.name == "associated-node" {
			who.Name = "*"
		}
	}
	asks := []Attributes{who}
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
