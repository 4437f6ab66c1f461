package authn

import (
	"net/http"

	"k8s.io/apiserver/pkg/apis/apiserver"
)

// anonymousRule says which requests without credentials are served.
type anonymousRule struct {
	never bool
	// paths are the only ones; empty: all.
	paths map[string]bool
}

func newAnonymousRule(config *apiserver.AnonymousAuthConfig) anonymousRule {
	rule := anonymousRule{never: !config.Enabled, paths: map[string]bool{}}
	for _, condition := range config.Conditions {
		rule.paths[condition.Path] = true
	}
	return rule
}

// Anonymous reports whether a request without credentials is served, as system:anonymous.
func (a *Authenticators) Anonymous(r *http.Request) bool {
	if a == nil {
		return true
	}
	return !a.anonymous.never && (len(a.anonymous.paths) == 0 || a.anonymous.paths[r.URL.Path])
}
