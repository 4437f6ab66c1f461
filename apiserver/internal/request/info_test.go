package request_test

import (
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/request"
)

// TestInfo checks what a method and a path identify: authorization sees the same request.
func TestInfo(t *testing.T) {
	core := schema.GroupVersion{Version: "v1"}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	info := func(verb string, gv schema.GroupVersion, resource, namespace, name, subresource string) *request.Info {
		return &request.Info{Verb: verb, GVR: gv.WithResource(resource), Namespace: namespace, Name: name, Subresource: subresource}
	}
	for _, test := range []struct {
		method, path string
		want         *request.Info
	}{
		{"GET", "/api/v1/namespaces/ns/pods/p/log", info("get", core, "pods", "ns", "p", "log")},
		{"HEAD", "/api/v1/pods", info("list", core, "pods", "", "", "")},
		{"GET", "/apis/apps/v1/deployments?watch", info("watch", apps, "deployments", "", "", "")},
		{"GET", "/apis/apps/v1/deployments?watch=false&limit=x", info("list", apps, "deployments", "", "", "")},
		{"GET", "/apis/apps/v1/deployments/d?watch=1", info("get", apps, "deployments", "", "d", "")},
		// A field selector names no object to serve.
		{"GET", "/api/v1/namespaces/ns/pods?fieldSelector=metadata.name=p", info("list", core, "pods", "ns", "", "")},
		{"DELETE", "/api/v1/namespaces/ns/pods", info("deletecollection", core, "pods", "ns", "", "")},
		{"PURGE", "/api/v1/pods", info("", core, "pods", "", "", "")},
		// A Namespace is not in itself, and there are no Namespaces in a namespace.
		{"GET", "/api/v1/namespaces", info("list", core, "namespaces", "", "", "")},
		{"GET", "/api/v1/namespaces/ns", info("get", core, "namespaces", "", "ns", "")},
		{"PUT", "/api/v1/namespaces/ns/finalize", info("update", core, "namespaces", "", "ns", "finalize")},
		{"GET", "/api/v1/namespaces/ns/namespaces/ns", info("get", core, "namespaces", "ns", "ns", "")},
		{"GET", "/apis/x/v1/namespaces/ns", info("get", schema.GroupVersion{Group: "x", Version: "v1"}, "namespaces", "", "ns", "")},
		{"GET", "/api/v1/watch/namespaces/ns", info("watch", core, "namespaces", "", "ns", "")},
		{"GET", "/api/v1/watch/namespaces/ns/namespaces/ns", info("watch", core, "namespaces", "ns", "ns", "")},
		{"DELETE", "/api/v1/watch/namespaces/ns/pods/p", info("watch", core, "pods", "ns", "p", "")},
		{"POST", "/api/v1/namespaces/ns/services/s/proxy/a/b", info("create", core, "services", "ns", "s", "proxy")},
		{"GET", "/api/v1/namespaces/ns/pods/p/log/x", nil},
		{"GET", "/api/v1/namespaces/ns/configmaps/a%2Fb", info("get", core, "configmaps", "ns", "a", "b")},
		{"GET", "/api/v1/watch", nil},
		{"GET", "/api/v1/proxy/pods/p", nil},
		{"GET", "/api/v1", nil},
		{"GET", "/api/v1/", nil},
		{"GET", "/api/v1//pods", nil},
		{"GET", "/apis/apps/v1", nil},
		{"GET", "/apis/%2Fv1/namespaces/ns/pods/p", nil},
		{"GET", "/metrics", nil},
	} {
		r := httptest.NewRequestWithContext(t.Context(), test.method, test.path, nil)
		ctx, _ := request.Parse(r.Context(), r)
		got, ok := request.InfoFrom(ctx)
		if ok != (test.want != nil) || ok && got != *test.want {
			t.Errorf("%s %s: %+v, %t", test.method, test.path, got, ok)
		}
	}
}
