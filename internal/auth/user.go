package auth

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
)

// Well-known names, as upstream.
const (
	// GroupMasters is the group of cluster administrators.
	GroupMasters         = "system:masters"
	GroupAuthenticated   = "system:authenticated"
	GroupUnauthenticated = "system:unauthenticated"
	UserAnonymous        = "system:anonymous"
)

// User is the user that makes a request.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Anonymous returns the user of requests without credentials.
func Anonymous() *User {
	return &User{Name: UserAnonymous, Groups: []string{GroupUnauthenticated}}
}

// IsAnonymous reports whether the user is not authenticated.
func (u *User) IsAnonymous() bool {
	return u.Name == UserAnonymous || slices.Contains(u.Groups, GroupUnauthenticated)
}

type contextKey struct{}

// WithUser returns a context whose requests are made by user. Only the in-memory
// transport uses it: requests over a socket cannot set it.
func WithUser(ctx context.Context, user *User) context.Context {
	return context.WithValue(ctx, contextKey{}, user)
}

// FromContext returns the user that WithUser set, or nil.
func FromContext(ctx context.Context) *User {
	user, _ := ctx.Value(contextKey{}).(*User)
	return user
}

// NameFromContext returns the name of the user that WithUser set, or "".
func NameFromContext(ctx context.Context) string {
	if user := FromContext(ctx); user != nil {
		return user.Name
	}
	return ""
}

// FromInfo returns the authenticated user that an authenticator of k8s.io/apiserver found.
func FromInfo(info user.Info) *User {
	u := &User{Name: info.GetName(), UID: info.GetUID(), Groups: slices.Clone(info.GetGroups()), Extra: info.GetExtra()}
	if u.Name != UserAnonymous && !slices.Contains(u.Groups, GroupUnauthenticated) {
		u.Groups = withGroup(u.Groups, GroupAuthenticated)
	}
	return u
}

// Info returns the user as the authenticators and authorizers of k8s.io/apiserver take it.
func (u *User) Info() user.Info {
	return &user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}
}
