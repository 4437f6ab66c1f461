package requests

import (
	"net/http"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// paths are URLs that are no resources.
var paths = []string{
	"/", "/api", "/api/", "/apis", "/apis/", "/version", "/version/", "/healthz", "/healthz/", "/livez", "/livez/", "/readyz", "/readyz/", "/healthz?verbose", "/livez?verbose", "/readyz?verbose", "/readyz?verbose=true&exclude=etcd",
	"/livez?exclude=etcd&verbose", "/livez?exclude=unknown&verbose", "/livez?exclude=unknown", "/healthz/ping", "/livez/ping", "/readyz/ping", "/healthz/etcd", "/livez/etcd", "/readyz/etcd", "/healthz/log", "/livez/log", "/readyz/log", "/readyz/shutdown", "/livez/shutdown",
	"/readyz/informer-sync", "/livez/informer-sync", "/readyz/poststarthook/rbac/bootstrap-roles", "/healthz/poststarthook/start-apiextensions-controllers", "/readyz/etcd-readiness", "/healthz/unknown", "/livez/etcd/x", "/readyz/etcd?verbose", "/readyz/ping?verbose", "/healthz/autoregister-completion",
	"/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/", "/.well-known/", "/openid", "/openid/v1", "/openapi", "/openapi/", "/openapi/v1", "/openapi/v3/", "/openapi/v2/", "/openapi/v3/api/v9", "/openapi/v3/apis/none/v1",
	"/openapi/v3/api/v1/", "/openapi/v3/apis/apps/v1?hash=x", "/metricsx", "/logs", "/logs/", "/debug", "/debug/", "/debug/pprof", "/debug/pprof/", "/debug/flags/v", "/debug/api_priority_and_fairness/dump_priority_levels", "/ui", "/favicon.ico", "/unknown", "/unknown/", "/flagz", "/flagz/", "/statusz", "/statusz/",
	"/configz", "/swaggerapi", "/swagger.json", "/swagger-2.0.0.pb-v1", "/api/v2", "/api/v1x", "/apis/none", "/apis/none/v1", "/apis/apps/v9", "/apis/apps/v9/deployments", "/apis/none/v1/things", "/api/v1/none", "/api/v1/namespaces/wire/none", "/api/v1/namespaces/wire/none/x", "/apis/apps/v1/namespaces/wire/none",
	"/api//v1", "//api/v1", "/api/v1//namespaces", "/api/v1/namespaces//pods", "/api/v1/../v1", "/api/v1/./namespaces", "/api/v1/namespaces/wire/", "/api/v1/namespaces/%77ire", "/api/v1/namespaces/wi%2Fre", "/api/v1/namespaces/wire%00", "/api/v1/namespaces/..", "/api/v1/%2e%2e/v1", "/API/v1", "/api/V1",
	"/api/v1/watch", "/api/v1/watch/namespaces/wire?timeoutSeconds=1", "/api/v1/proxy/nodes/x", "/api/v1/redirect/nodes/x", "/apis/apps/v1/watch/", "/metrics/", "/metrics/slis/", "/metrics/resources", "/metrics/cadvisor",
}

// nonResources asks for paths that are no resources, by every method and with common headers.
func nonResources() exchange.Case {
	c := exchange.Case{Name: "non-resources"}
	for _, path := range paths {
		c.Add(get("GET "+path, path))
	}
	for _, path := range []string{"/", "/api", "/apis", "/version", "/healthz", "/livez", "/readyz", "/openapi/v2", "/openapi/v3", "/.well-known/openid-configuration", "/openid/v1/jwks", "/apis/apps", "/apis/apps/", "/apis/apps/v1", "/apis/apps/v1/", "/api/v1", "/api/v1/", "/unknown", "/flagz", "/statusz", "/metrics"} {
		for _, method := range []string{http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodTrace, "FOO"} {
			c.Add(exchange.Request{Name: method + " " + path, Method: method, Path: path})
		}
	}
	for _, path := range []string{"/", "/api", "/apis", "/version", "/healthz", "/readyz?verbose", "/apis/apps", "/apis/apps/v1", "/api/v1", "/.well-known/openid-configuration", "/openid/v1/jwks", "/unknown", "/flagz", "/statusz"} {
		for _, a := range append(accepts, moreAccepts...) {
			c.Add(getAs("GET "+path+" as "+a.name, path, a.accept))
		}
	}
	for _, path := range []string{"/", "/api", "/api/v1", "/apis", "/apis/apps/v1", "/version", "/healthz", "/readyz", "/livez/ping", "/metrics", "/openapi/v2", "/openapi/v3", "/.well-known/openid-configuration", "/openid/v1/jwks", "/flagz", "/statusz", "/debug/pprof/", "/logs/", "/unknown"} {
		for _, user := range []struct{ name, authorization string }{{"nobody", "Bearer wire-nobody"}, {"anonymous", ""}, {"unknown", "Bearer unknown"}} {
			c.Add(exchange.Request{Name: "GET " + path + " by " + user.name, Method: "GET", Path: path, Header: map[string]string{"Authorization": user.authorization}})
		}
	}
	for _, path := range []string{"/", "/api", "/version", "/healthz", "/openid/v1/jwks", "/apis"} {
		c.Add(exchange.Request{Name: "GET " + path + " compressed", Method: "GET", Path: path, Header: map[string]string{"Accept-Encoding": "gzip"}})
	}
	return c
}

// moreAccepts are the forms of discovery and of the z-pages.
var moreAccepts = []struct{ name, accept string }{
	{"discovery v2beta1", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"},
	{"discovery v2 in another order", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
	{"discovery or JSON", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"},
	{"discovery as protobuf", "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
	{"discovery as YAML", "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
	{"discovery of a version that does not exist", "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList"},
	{"discovery with a profile", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer"},
	{"a status page", "application/json;g=config.k8s.io;v=v1alpha1;as=Statusz"},
	{"a status page of v1beta1", "application/json;g=config.k8s.io;v=v1beta1;as=Statusz"},
	{"flags", "application/json;g=config.k8s.io;v=v1alpha1;as=Flagz"},
	{"flags of v1beta1", "application/json;g=config.k8s.io;v=v1beta1;as=Flagz"},
	{"an image", "image/png"},
	{"openmetrics", "application/openmetrics-text"},
}

// discovery asks for the description of each group and version.
func discovery(kinds []Kind) exchange.Case {
	c := exchange.Case{Name: "discovery"}
	seen := map[string]bool{}
	ask := func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		for _, a := range accepts[:6] {
			c.Add(getAs(path+" as "+a.name, path, a.accept))
		}
		c.Add(get(path+"/", path+"/"))
		c.Add(exchange.Request{Name: path + " compressed", Method: "GET", Path: path, Header: map[string]string{"Accept-Encoding": "gzip"}})
	}
	for i := range kinds {
		k := &kinds[i]
		if k.Group != "" {
			ask("/apis/" + k.Group)
		}
		ask(k.Root())
	}
	return c
}

// users asks on behalf of others, and with wrong credentials.
func users() exchange.Case {
	c := exchange.Case{Name: "users"}
	const path = "/api/v1/namespaces/wire/configmaps?labelSelector=none"
	for _, u := range []struct {
		name   string
		header map[string]string
	}{
		{"no credentials", map[string]string{"Authorization": ""}},
		{"basic authentication", map[string]string{"Authorization": "Basic YTpi"}},
		{"an empty token", map[string]string{"Authorization": "Bearer "}},
		{"a token in lower case", map[string]string{"Authorization": "bearer wire-admin"}},
		{"a token with spaces", map[string]string{"Authorization": "Bearer  wire-admin"}},
		{"a token that is a JWT", map[string]string{"Authorization": "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"}},
		{"impersonation", map[string]string{"Impersonate-User": "jane"}},
		{"impersonation of a group", map[string]string{"Impersonate-User": "jane", "Impersonate-Group": "system:masters"}},
		{"impersonation of a group alone", map[string]string{"Impersonate-Group": "system:masters"}},
		{"impersonation of a UID", map[string]string{"Impersonate-User": "jane", "Impersonate-Uid": "1"}},
		{"impersonation of a UID alone", map[string]string{"Impersonate-Uid": "1"}},
		{"impersonation with extras", map[string]string{"Impersonate-User": "jane", "Impersonate-Extra-Scopes": "a"}},
		{"impersonation of extras alone", map[string]string{"Impersonate-Extra-Scopes": "a"}},
		{"impersonation of a service account", map[string]string{"Impersonate-User": "system:serviceaccount:wire:default"}},
		{"impersonation of no service account", map[string]string{"Impersonate-User": "system:serviceaccount:x"}},
		{"impersonation of a node", map[string]string{"Impersonate-User": "system:node:a", "Impersonate-Group": "system:nodes"}},
		{"impersonation of anonymous", map[string]string{"Impersonate-User": "system:anonymous"}},
		{"impersonation by nobody", map[string]string{"Authorization": "Bearer wire-nobody", "Impersonate-User": "jane"}},
		{"impersonation of a group by nobody", map[string]string{"Authorization": "Bearer wire-nobody", "Impersonate-User": "jane", "Impersonate-Group": "g"}},
		{"impersonation of an empty user", map[string]string{"Impersonate-User": ""}},
	} {
		for _, to := range []struct{ name, path string }{{"list", path}, {"self", "/apis/authentication.k8s.io/v1/selfsubjectreviews"}} {
			r := exchange.Request{Name: to.name + " with " + u.name, Method: "GET", Path: to.path, Header: u.header}
			if to.name == "self" {
				r.Method, r.Body = "POST", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
				header := map[string]string{"Content-Type": exchange.JSON}
				for name, value := range u.header {
					header[name] = value
				}
				r.Header = header
			}
			c.Add(r)
		}
	}
	return c
}
