package apiserver_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/auth"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
)

// sound makes one request and fails the test if the response is a panic, an internal
// error, or a failure without a Status.
func sound(t *testing.T, h *harness, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, "/", strings.NewReader(body))
	location, err := url.ParseRequestURI(target)
	if err != nil {
		t.Skip("no URL")
	}
	req.URL, req.RequestURI = location, target
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req = req.WithContext(auth.WithUser(t.Context(), &auth.User{Name: "fuzzer", Groups: []string{auth.GroupMasters}}))
	w := httptest.NewRecorder()
	h.server.Handler().ServeHTTP(w, req)
	if w.Code == http.StatusInternalServerError && !isUpstreams(w.Body.String(), req.Header.Get("Content-Type")) {
		t.Fatalf("%s %q %q %q: %d %s", method, target, headers, body, w.Code, w.Body)
	}
	return w
}

// isUpstreams reports whether upstream responds with the same internal error.
func isUpstreams(answer, contentType string) bool {
	if contentType == string(types.StrategicMergePatchType) && !strings.Contains(answer, `"reason"`) {
		return true // a patch that cannot be merged
	}
	return slices.ContainsFunc([]string{
		"failed to create typed", "resourceVersion should not be set", "before-first-apply", "resourceVersion: Invalid value: ",
	}, func(text string) bool { return strings.Contains(answer, text) })
}

// fuzzed returns a server with one object of each kind that the tests use.
func fuzzed(f *testing.F) *harness {
	f.Helper()
	// The scaled clock shortens waits for future versions.
	h := start(f, func(o *apiserver.Options) { o.Clock = clock.Scaled(1000) })
	h.mustSend("POST", mapsPath, asJSON(f, configMap("a", "k", "v")))
	h.mustSend("POST", "/apis/apps/v1/namespaces/default/deployments", asJSON(f, deployment("d", 1)))
	return h
}

func FuzzCreate(f *testing.F) {
	h := fuzzed(f)
	cm := configMap("a", "k", "v")
	cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	proto := must(runtime.Encode(encoder(f, runtime.ContentTypeProtobuf), cm))(f)
	f.Add("application/json", asJSON(f, cm))
	f.Add("application/yaml", "metadata: {name: b, labels: {a: b}}\ndata: {k: v}\n")
	f.Add("application/yaml", "a: &a [*a]\n")
	f.Add("application/vnd.kubernetes.protobuf", string(proto))
	f.Add("application/vnd.kubernetes.protobuf", string(proto[:20]))
	f.Add("application/vnd.kubernetes.protobuf", "k8s\x00\x0a\xff\xff\xff\xff\x0f")
	f.Add("application/json", `{"metadata":{"name":"\ud800"},"data":{"\u0000":"\uffff"}}`)
	f.Add("application/json", `{"metadata":{"generateName":"x-","ownerReferences":[{"apiVersion":"v1"},null],"finalizers":[""]}}`)
	f.Add("text/json", "x")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		for _, query := range []string{"", "&fieldValidation=Strict", "&fieldValidation=Ignore"} {
			sound(t, h, "POST", mapsPath+"?dryRun=All"+query, body, "Content-Type", contentType)
		}
		sound(t, h, "PUT", mapsPath+"/a?dryRun=All", body, "Content-Type", contentType)
		sound(t, h, "DELETE", mapsPath+"/a?dryRun=All", body, "Content-Type", contentType)
		// A body without dryRun deletes.
		sound(t, h, "POST", mapsPath, asJSON(t, configMap("a", "k", "v")))
	})
}

func FuzzPatch(f *testing.F) {
	h := fuzzed(f)
	f.Add("application/json-patch+json", `[{"op":"replace","path":"/spec/replicas","value":2}]`)
	f.Add("application/json-patch+json", `[{"op":"copy","from":"/spec","path":"/spec/template/spec/x"},{"op":"move","from":"/spec","path":"/status"}]`)
	f.Add("application/json-patch+json", `[{"op":"add","path":"","value":null},{"op":"test","path":"/x~2"}]`)
	f.Add("application/json-patch+json", `[{"op":"add","path":"/spec/template/spec/containers/99999999999","value":{}}]`)
	f.Add("application/json-patch+json", `[null]`)
	f.Add("application/merge-patch+json", `{"spec":{"template":{"spec":{"containers":[null]}}}}`)
	f.Add("application/merge-patch+json", `null`)
	f.Add("application/strategic-merge-patch+json", `{"spec":{"template":{"spec":{"containers":[{"name":"main","$patch":"delete"}],"$setElementOrder/containers":[{"name":"x"}]}}}}`)
	f.Add("application/strategic-merge-patch+json", `{"$patch":"replace","$retainKeys":[1]}`)
	f.Add("application/strategic-merge-patch+json", `{"spec":{"template":{"spec":{"$deleteFromPrimitiveList/containers":[1],"containers":[1]}}}}`)
	f.Add("application/apply-patch+yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 3}\n")
	f.Add("application/apply-patch+yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, labels: [1]}\nspec: 3\n")
	f.Add("application/apply-patch+yaml", "kind: []\napiVersion: {}\nmetadata: 1\n")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		const path = "/apis/apps/v1/namespaces/default/deployments/d"
		for _, sub := range []string{"", "/status", "/scale"} {
			for _, query := range []string{"", "&fieldValidation=Strict", "&fieldValidation=Ignore"} {
				sound(t, h, "PATCH", path+sub+"?dryRun=All&fieldManager=f"+query, body, "Content-Type", contentType)
			}
		}
		sound(t, h, "PATCH", "/apis/apps/v1/namespaces/default/deployments/new?dryRun=All&force=true&fieldManager=f", body, "Content-Type", contentType)
	})
}

func FuzzListQuery(f *testing.F) {
	h := fuzzed(f)
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":3,"start":"default/a\u0000"}`))
	for _, query := range []string{
		"labelSelector=a%3Db", "labelSelector=a+in+(b,c),!d", "fieldSelector=metadata.name%3Da", "fieldSelector=metadata.name!%3Da%5C%2C",
		"limit=1", "limit=1&continue=" + token, "continue=" + base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":-1,"start":"../x"}`)),
		"continue=" + base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"x"}`)),
		"resourceVersion=1&resourceVersionMatch=Exact", "resourceVersion=9223372036854775807", "resourceVersion=18446744073709551615", "limit=9223372036854775807", "limit=-9223372036854775808",
		"sendInitialEvents=true", "timeoutSeconds=-1", "%zz", "labelSelector=%00", "pretty=true",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if values, _ := url.ParseQuery(query); values.Has("watch") {
			t.Skip("a watch does not end")
		}
		sound(t, h, "GET", mapsPath+"?"+query, "")
		sound(t, h, "GET", "/apis/events.k8s.io/v1/events?"+query, "")
		sound(t, h, "DELETE", mapsPath+"?dryRun=All&"+query, "")
		sound(t, h, "GET", mapsPath+"/a?"+query, "")
	})
}

// No token reveals objects outside the collection.
func FuzzContinue(f *testing.F) {
	h := fuzzed(f)
	h.mustSend("POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"hidden"}}`)
	h.mustSend("POST", "/api/v1/namespaces/kube-system/configmaps", `{"metadata":{"name":"hidden"}}`)
	for _, start := range []string{"a", "../../secrets/default/", "/", "", "\x00", "a/../../", "default/a", "../kube-system/"} {
		f.Add(start, int64(-1))
		f.Add(start, int64(5))
	}
	f.Fuzz(func(t *testing.T, startKey string, revision int64) {
		token := base64.RawURLEncoding.EncodeToString([]byte(asJSON(t, map[string]any{"v": "meta.k8s.io/v1", "rv": revision, "start": startKey})))
		w := sound(t, h, "GET", mapsPath+"?continue="+token, "")
		if strings.Contains(w.Body.String(), `"hidden"`) {
			t.Fatalf("%q at %d shows %s", startKey, revision, w.Body)
		}
		var list corev1.ConfigMapList
		if w.Code == http.StatusOK {
			(&reply{body: w.Body.Bytes()}).into(t, &list)
		}
		for i := range list.Items {
			if list.Items[i].Namespace != "default" {
				t.Fatalf("%q: %+v", startKey, list.Items[i].ObjectMeta)
			}
		}
	})
}

func FuzzAccept(f *testing.F) {
	h := fuzzed(f)
	for _, accept := range []string{
		"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/vnd.kubernetes.protobuf;q=0.1,*/*;q=0.2", "*/*;q=2", ";", "a/b;c", "application/json;q=nan",
		"application/yaml;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", "application/json;stream=watch", strings.Repeat("a/b,", 1000),
		"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/json;profile=nameless",
	} {
		f.Add(accept)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		for _, path := range []string{mapsPath, mapsPath + "/a", mapsPath + "/none", "/api", "/apis", "/api/v1", "/apis/apps", "/openapi/v2"} {
			sound(t, h, "GET", path, "", "Accept", accept)
		}
	})
}

func FuzzPath(f *testing.F) {
	h := fuzzed(f)
	for _, path := range []string{
		"/api/v1/namespaces/default/configmaps/a", "/api/v1/watch/", "/api/v1/watch", "/api/v1/namespaces", "/api/v1/namespaces/", "/api/v1/namespaces//configmaps", "/api/v1/namespaces/x/status", "/api//v1/pods",
		"/apis/apps/v1/namespaces/default/deployments/d/scale/x", "/apis///", "/api/v1/namespaces/default/configmaps/%2e%2e", "/api/v1/namespaces/..%2f/configmaps/a", "/api/v1/namespaces/default/configmaps/a%2Fb", "/%00", "/api/v1/configmaps?watch", "/apis/apps/v1/%zz",
	} {
		f.Add("GET", path)
		f.Add("PUT", path)
		f.Add("DELETE", path)
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		if strings.Contains(path, "watch") || strings.Contains(path, "?") || !strings.HasPrefix(path, "/") {
			t.Skip("a watch does not end")
		}
		if _, err := http.NewRequestWithContext(t.Context(), method, "/", nil); err != nil {
			t.Skip("no method")
		}
		sound(t, h, method, path+"?dryRun=All", "")
	})
}
