package auth

import (
	"slices"
	"strings"
)

// publicPaths can be read by anybody, as by upstream's role
// system:public-info-viewer.
var publicPaths = []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}

// Allowed reports whether user may make the request. Every authenticated user may
// do everything: role-based access control is not here yet (docs/limits.md).
func Allowed(user *User, path string) bool {
	if !user.IsAnonymous() {
		return true
	}
	return slices.ContainsFunc(publicPaths, func(p string) bool {
		return path == p || strings.HasPrefix(path, p+"/")
	})
}
