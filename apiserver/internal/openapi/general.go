package openapi

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// bearerToken is the name and, in lower case, the header of the security scheme.
const (
	bearerToken = "BearerToken"
	tokenHeader = "authorization"
	tokenText   = "The token of a user or service account, after the word Bearer."
)

// securityDefinitions is how clients authenticate, in version 2.
func securityDefinitions() *spec.SecurityDefinitions {
	scheme := spec.SecurityScheme{SecuritySchemeProps: spec.SecuritySchemeProps{Type: "apiKey", Name: tokenHeader, In: "header", Description: tokenText}}
	return &spec.SecurityDefinitions{bearerToken: &scheme}
}

// securitySchemes is how clients authenticate, in version 3.
func securitySchemes() spec3.SecuritySchemes {
	scheme := spec3.SecurityScheme{SecuritySchemeProps: spec3.SecuritySchemeProps{Type: "apiKey", Name: tokenHeader, In: "header", Description: tokenText}}
	return spec3.SecuritySchemes{bearerToken: &scheme}
}

// security is the schemes that every operation accepts.
func security() []map[string][]string { return []map[string][]string{{bearerToken: {}}} }

// general returns the routes that belong to no group and version, by the path of their document:
// discovery, the version, and the discovery of the issuer of tokens.
func (s *source) general() map[string]routes {
	asked := []string{mediaJSON}
	all := map[string]routes{
		"api": {{
			path: "/api/", id: "getCoreAPIVersions", tag: "core", description: "get the versions of the core group",
			consumes: objects, produces: objects, reply: &metav1.APIVersions{},
		}},
		"apis": {{
			path: "/apis/", id: "getAPIVersions", tag: "apis", description: "get the groups and their versions",
			consumes: objects, produces: objects, reply: &metav1.APIGroupList{},
		}},
		"version": {{
			path: "/version/", id: "getCodeVersion", tag: "version", description: "get the version of the server",
			consumes: asked, produces: asked, reply: &version.Info{},
		}},
		".well-known/openid-configuration": {{
			path: "/.well-known/openid-configuration/", id: "getServiceAccountIssuerOpenIDConfiguration", tag: "WellKnown",
			description: "get the OpenID configuration of the issuer of service account tokens", produces: asked, reply: text,
		}},
		"openid/v1/jwks": {{
			path: "/openid/v1/jwks/", id: "getServiceAccountIssuerOpenIDKeyset", tag: "openid",
			description: "get the keys that verify service account tokens", produces: []string{"application/jwk-set+json"}, reply: text,
		}},
	}
	for _, g := range s.table.Groups() {
		if path, r, ok := s.groupRoute(g); ok {
			all[path] = routes{r}
		}
	}
	for _, rs := range all {
		for _, r := range rs {
			r.method, r.codes = http.MethodGet, []int{http.StatusOK}
		}
	}
	return all
}

// groupRoute returns the discovery of a group. Groups of custom kinds have none, and neither has
// the core group, which is all of its path.
func (s *source) groupRoute(g resources.Group) (path string, r *route, ok bool) {
	rows := s.table.InVersion(schema.GroupVersion{Group: g.Name, Version: g.Versions[0]})
	if g.Name == "" || len(rows) == 0 || rows[0].Custom {
		return "", nil, false
	}
	return "apis/" + g.Name, &route{
		path: "/apis/" + g.Name + "/", id: "get" + groupName(g.Name) + "APIGroup", tag: lowerFirst(groupName(g.Name)),
		description: "get the versions of a group", consumes: objects, produces: objects, reply: &metav1.APIGroup{},
	}, true
}
