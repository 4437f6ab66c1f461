package auth

import (
	"context"
	"slices"
)

// Well-known names, as upstream has them.
const (
	// GroupMasters may do everything.
	GroupMasters         = "system:masters"
	GroupAuthenticated   = "system:authenticated"
	GroupUnauthenticated = "system:unauthenticated"
	UserAnonymous        = "system:anonymous"
)

// User is who makes a request.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Anonymous is a client that showed no credentials.
func Anonymous() *User {
	return &User{Name: UserAnonymous, Groups: []string{GroupUnauthenticated}}
}

// IsAnonymous reports whether the user showed no credentials.
func (u *User) IsAnonymous() bool {
	return u.Name == UserAnonymous || slices.Contains(u.Groups, GroupUnauthenticated)
}

type contextKey struct{}

// WithUser returns a context whose requests are made by user. Only the in-memory
// transport uses it: nothing that comes over a socket can set it.
func WithUser(ctx context.Context, user *User) context.Context {
	return context.WithValue(ctx, contextKey{}, user)
}

// FromContext returns the user that WithUser set, or nil.
func FromContext(ctx context.Context) *User {
	user, _ := ctx.Value(contextKey{}).(*User)
	return user
}
