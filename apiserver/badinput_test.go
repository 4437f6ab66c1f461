package apiserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

const mapsPath = "/api/v1/namespaces/default/configmaps"

// unchanged fails the test if anything has been written since.
func (h *harness) unchanged(t testing.TB, since int64) {
	t.Helper()
	if now := must(h.store.Revision(h.ctx))(t); now != since {
		t.Errorf("something was stored: from revision %d to %d", since, now)
	}
}

func TestFieldValidation(t *testing.T) {
	h := start(t)
	const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","bogus":1},"data":{"k":"1","k":"2"},"spec":{}}`
	const objections = `strict decoding error: unknown field "metadata.bogus", duplicate field "data.k", unknown field "spec"`
	before := must(h.store.Revision(h.ctx))(t)
	r := h.send("POST", mapsPath+"?fieldValidation=Strict", body)
	s := wantReply(t, r, 400, metav1.StatusReasonBadRequest, `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: `)
	for _, text := range []string{`unknown field "metadata.bogus"`, `duplicate field "data.k"`, `unknown field "spec"`} {
		if !strings.Contains(s.Message, text) {
			t.Errorf("no %q in %q", text, s.Message)
		}
	}
	h.unchanged(t, before)
	for query, warnings := range map[string]int{"": 3, "?fieldValidation=Warn": 3, "?fieldValidation=Ignore": 0} {
		r := h.mustSend("POST", mapsPath+query, body)
		if len(r.header["Warning"]) != warnings {
			t.Errorf("%q: warnings %q, want %d", query, r.header["Warning"], warnings)
		}
		for _, w := range r.header["Warning"] {
			if !strings.HasPrefix(w, `299 - "`) {
				t.Errorf("%q", w)
			}
		}
		var cm corev1.ConfigMap
		r.into(t, &cm)
		if cm.Data["k"] != "2" {
			t.Errorf("%q: stored %v; %s", query, cm.Data, objections)
		}
		r = h.mustSend("PUT", mapsPath+"/a"+query, body)
		if len(r.header["Warning"]) != warnings {
			t.Errorf("update %q: warnings %q, want %d", query, r.header["Warning"], warnings)
		}
		h.mustSend("DELETE", mapsPath+"/a", "")
	}
	wantReply(t, h.send("POST", mapsPath+"?fieldValidation=Loose", body), 422, metav1.StatusReasonInvalid, `CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"`)
}

// Invalid bodies get upstream's errors.
func TestBadBodies(t *testing.T) {
	h := start(t)
	before := must(h.store.Revision(h.ctx))(t)
	good := asJSON(t, configMap("a", "k", "v"))
	cm := configMap("a", "k", "v")
	cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	proto := string(must(runtime.Encode(encoder(t, runtime.ContentTypeProtobuf), cm))(t))
	const jsonType, yamlType, protoType = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
	for name, c := range map[string]struct {
		contentType, body string
		code              int32
		reason            metav1.StatusReason
		text              string
	}{
		"empty":              {jsonType, "", 400, metav1.StatusReasonBadRequest, `(<empty>)`},
		"truncated":          {jsonType, good[:len(good)/2], 400, metav1.StatusReasonBadRequest, "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({"},
		"not JSON":           {jsonType, "hello", 400, metav1.StatusReasonBadRequest, "(68656c6c6f)"},
		"array":              {jsonType, "[]", 400, metav1.StatusReasonBadRequest, "the object provided is unrecognized (must be of type ConfigMap)"},
		"null":               {jsonType, "null", 422, metav1.StatusReasonInvalid, "name or generateName is required"},
		"wrong type":         {jsonType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":1}}`, 400, metav1.StatusReasonBadRequest, `ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`},
		"unknown kind":       {jsonType, `{"apiVersion":"v1","kind":"Confusion"}`, 400, metav1.StatusReasonBadRequest, `Confusion in version "v1" cannot be handled as a ConfigMap: no kind "Confusion" is registered for version "v1"`},
		"other kind":         {jsonType, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, 400, metav1.StatusReasonBadRequest, `Secret in version "v1" cannot be handled as a ConfigMap`},
		"other version":      {jsonType, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}}`, 400, metav1.StatusReasonBadRequest, `Deployment in version "v1" cannot be handled as a ConfigMap: converting (v1.Deployment) to (core.ConfigMap): unknown conversion`},
		"other namespace":    {jsonType, `{"metadata":{"name":"a","namespace":"other"}}`, 400, metav1.StatusReasonBadRequest, "the namespace of the provided object does not match the namespace sent on the request"},
		"truncated protobuf": {protoType, proto[:len(proto)/2], 400, metav1.StatusReasonBadRequest, ""},
		"protobuf magic":     {protoType, "k8s\x00", 400, metav1.StatusReasonBadRequest, ""},
		"protobuf rubbish":   {protoType, "k8s\x00\xff\xff\xff\xff", 400, metav1.StatusReasonBadRequest, ""},
		"JSON as protobuf":   {protoType, good, 400, metav1.StatusReasonBadRequest, ""},
		"bad YAML":           {yamlType, "a: b: c", 400, metav1.StatusReasonBadRequest, ""},
		"YAML bomb":          {yamlType, yamlBomb(), 400, metav1.StatusReasonBadRequest, ""},
		"deep JSON":          {jsonType, `{"metadata":{"name":"a"},"data":` + strings.Repeat(`{"a":`, 100_000) + strings.Repeat("}", 100_000) + "}", 400, metav1.StatusReasonBadRequest, ""},
		"form":               {"application/x-www-form-urlencoded", "a=b", 415, metav1.StatusReasonUnsupportedMediaType, "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
		"odd type":           {"json;;", good, 415, metav1.StatusReasonUnsupportedMediaType, ""},
	} {
		for _, validation := range []string{"", "?fieldValidation=Strict", "?fieldValidation=Ignore"} {
			r := h.send("POST", mapsPath+validation, c.body, "Content-Type", c.contentType)
			s := r.status(t)
			if r.code != int(c.code) || s.Reason != c.reason || !strings.Contains(s.Message, c.text) {
				t.Errorf("%s%s: %d %s %.300q\nwant %d %s %q", name, validation, r.code, s.Reason, s.Message, c.code, c.reason, c.text)
			}
		}
	}
	h.unchanged(t, before)
}

func yamlBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 10; i++ {
		prev := string(rune('0' + i - 1))
		b.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.TrimSuffix(strings.Repeat("*a"+prev+",", 10), ",") + "]\n")
	}
	return b.String()
}

// A body of more than 3 MiB is rejected, with and without a Content-Length.
func TestLargeBodies(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		before := must(h.store.Revision(h.ctx))(t)
		large := asJSON(t, configMap("a", "k", strings.Repeat("x", 3<<20)))
		r := h.raw(cfg, "POST", mapsPath, large)
		wantReply(t, r, 413, metav1.StatusReasonRequestEntityTooLarge, "Request entity too large: limit is 3145728")
		req, err := http.NewRequestWithContext(h.ctx, "POST", cfg.Host+mapsPath, io.MultiReader(strings.NewReader(large)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.httpClient(cfg).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() // read to its end
		if resp.StatusCode != 413 {
			t.Fatalf("a body of untold length: %d", resp.StatusCode)
		}
		h.unchanged(t, before)
		r = h.raw(cfg, "POST", mapsPath, asJSON(t, configMap("a", "k", strings.Repeat("x", 1_100_000))))
		wantReply(t, r, 422, metav1.StatusReasonInvalid, "Too long: may not be more than 1048576 bytes")
	})
}

func TestBadNames(t *testing.T) {
	h := start(t)
	for _, c := range []struct{ path, body, field, text string }{
		{mapsPath, `{"metadata":{"name":"Upper"}}`, "metadata.name", `ConfigMap "Upper" is invalid: metadata.name: Invalid value: "Upper": a lowercase RFC 1123 subdomain must consist of`},
		{mapsPath, `{"metadata":{"name":"` + strings.Repeat("x", 254) + `"}}`, "metadata.name", "must be no more than 253 "},
		{mapsPath, `{"metadata":{"name":"a/b"}}`, "metadata.name", "a/b"},
		{mapsPath, `{"metadata":{"name":".."}}`, "metadata.name", ""},
		{mapsPath, `{"metadata":{"name":"a","labels":{"a b":"c"}}}`, "metadata.labels", "name part must consist of alphanumeric characters"},
		{mapsPath, `{"metadata":{"name":"a","labels":{"a":"` + strings.Repeat("x", 64) + `"}}}`, "metadata.labels", "must be no more than 63 "},
		{mapsPath, `{"metadata":{"name":"a","annotations":{"a b":"c"}}}`, "metadata.annotations", "name part must consist of alphanumeric characters"},
		{mapsPath, `{"metadata":{"name":"a","finalizers":["nodomain"]}}`, "", ""},
		{mapsPath, `{"metadata":{"name":"a","ownerReferences":[{"kind":"Pod"}]}}`, "metadata.ownerReferences[0].apiVersion", "metadata.ownerReferences[0].uid: Required value: must not be empty"},
		{mapsPath, `{"metadata":{"generateName":"Bad_"}}`, "metadata.generateName", "a lowercase RFC 1123 subdomain"},
		{"/api/v1/namespaces", `{"metadata":{"name":"a.b"}}`, "metadata.name", "must not contain dots"},
	} {
		r := h.send("POST", c.path, c.body)
		if c.field == "" {
			continue
		}
		s := wantReply(t, r, 422, metav1.StatusReasonInvalid, c.text)
		if s.Details == nil || len(s.Details.Causes) == 0 || s.Details.Causes[0].Field != c.field {
			t.Errorf("%s: causes %+v, want the field %s", c.body, s.Details, c.field)
		}
	}
}

func TestImmutableFields(t *testing.T) {
	h := start(t)
	client := h.client()
	d := must(client.AppsV1().Deployments("default").Create(h.ctx, deployment("d", 1), metav1.CreateOptions{}))(t)
	d.Spec.Selector.MatchLabels["app"] = "other"
	d.Spec.Template.Labels["app"] = "other"
	_, err := client.AppsV1().Deployments("default").Update(h.ctx, d, metav1.UpdateOptions{})
	s := wantStatus(t, err, 422, metav1.StatusReasonInvalid, `Deployment.apps "d" is invalid: spec.selector: Invalid value: `)
	if len(s.Details.Causes) != 1 || s.Details.Causes[0].Field != "spec.selector" || !strings.HasSuffix(s.Details.Causes[0].Message, "field is immutable") {
		t.Fatalf("causes: %+v", s.Details.Causes)
	}
	yes := true
	cm := configMap("a", "k", "v")
	cm.Immutable = &yes
	cm = must(client.CoreV1().ConfigMaps("default").Create(h.ctx, cm, metav1.CreateOptions{}))(t)
	cm.Data["k"] = "w"
	_, err = client.CoreV1().ConfigMaps("default").Update(h.ctx, cm, metav1.UpdateOptions{})
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, "data: Forbidden: field is immutable when `immutable` is set")
}

// Paths, methods and formats that are not served.
func TestBadRequests(t *testing.T) {
	h := start(t)
	must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
	before := must(h.store.Revision(h.ctx))(t)
	const notServed = "the server could not find the requested resource"
	for _, c := range []struct {
		method, path, accept string
		code                 int32
		text                 string
	}{
		{"GET", "/api/v1/nonsense", "", 404, notServed},
		{"GET", "/api/v1/namespaces/default/nonsense/x", "", 404, notServed},
		{"GET", "/apis/apps/v9/deployments", "", 404, notServed},
		{"GET", "/apis/apps/v1/configmaps", "", 404, notServed},
		{"GET", "/apis/nonsense.example.com/v1/things", "", 404, "404 page not found"},
		{"GET", "/nonsense", "", 404, "404 page not found"},
		{"GET", mapsPath + "/none", "", 404, `configmaps \"none\" not found`},
		{"GET", mapsPath + "/a/nonsense", "", 404, notServed},
		{"GET", mapsPath + "/a/status/more", "", 404, notServed},
		{"GET", "/api/v1/configmaps/a", "", 404, notServed},
		{"GET", "/api/v1/namespaces/default/nodes", "", 404, notServed},
		{"POST", "/api/v1/configmaps", "", 405, "the server does not allow this method on the requested resource"},
		{"DELETE", "/api/v1/configmaps", "", 405, "the server does not allow this method on the requested resource"},
		{"PUT", mapsPath, "", 405, "the server does not allow this method on the requested resource"},
		{"PATCH", mapsPath, "", 405, "the server does not allow this method on the requested resource"},
		{"POST", mapsPath + "/a", "", 405, "the server does not allow this method on the requested resource"},
		{"DELETE", "/api/v1/namespaces", "", 405, "the server does not allow this method on the requested resource"},
		{"BREW", mapsPath + "/a", "", 405, "the server does not allow this method on the requested resource"},
		{"GET", "/api/v1/namespaces/default/bindings", "", 405, "the server does not allow this method on the requested resource"},
		{"GET", "/api/v1/namespaces/default/pods/x/binding", "", 405, "the server does not allow this method on the requested resource"},
		{"GET", mapsPath + "/a%25b", "", 400, `Name parameter invalid: \"a%b\": may not contain '%'`},
		// As upstream, an encoded slash separates segments, for authorization too.
		{"GET", mapsPath + "/a%2Fb", "", 404, "the server could not find the requested resource"},
		{"GET", mapsPath + "/%2e%2e", "", 400, `Name parameter invalid: \"..\": may not be '..'`},
		{"GET", "/api/v1/namespaces/%2e%2e/configmaps/a", "", 400, "may not be '..'"},
		{"GET", "/api/v1/namespaces/..%2f../configmaps/a", "", 404, "the server could not find the requested resource"},
		{"GET", mapsPath, "text/html", 406, "Available representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
		{"GET", mapsPath, "application/json;as=Poem;g=meta.k8s.io;v=v1", 406, "only the following media types are accepted"},
		{"GET", mapsPath + "?watch=true", "application/yaml", 406, "application/json;stream=watch,"},
		{"GET", mapsPath + "?continue=xx!", "", 400, "invalid continue token: continue key is not valid"},
		{"GET", mapsPath + "?labelSelector=a%20b%20c", "", 400, "unable to parse requirement"},
		{"GET", mapsPath + "?fieldSelector=bogus%3D1", "", 400, `\"bogus\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"`},
		{"GET", mapsPath + "?fieldSelector=x", "", 400, "invalid selector"},
		{"GET", mapsPath + "?resourceVersionMatch=Exact", "", 422, "resourceVersionMatch is forbidden unless resourceVersion is provided"},
		{"GET", mapsPath + "?timeoutSeconds=long&watch=1", "", 400, "invalid syntax"},
	} {
		r := h.send(c.method, c.path, "", "Accept", c.accept)
		if r.code != int(c.code) || !strings.Contains(string(r.body), c.text) {
			t.Errorf("%s %s (%s): %d %s\nwant %d %q", c.method, c.path, c.accept, r.code, r.body, c.code, c.text)
		}
		if text := r.header.Get("Content-Type"); r.code != 404 && text != "application/json" && text != c.accept {
			t.Errorf("%s %s: an error as %s", c.method, c.path, text)
		}
	}
	h.unchanged(t, before)
}

// A client without a certificate may read what is public, and nothing else.
func TestAnonymous(t *testing.T) {
	h := start(t)
	cfg := overHTTPS().config(h)
	cfg.CertData, cfg.KeyData = nil, nil
	for path, code := range map[string]int{"/version": 200, "/healthz": 200, "/livez": 200, "/readyz": 200, "/livez/ping": 403, "/api": 403, "/apis": 403, mapsPath: 403, "/metrics": 403, "/openapi/v2": 403, "/minikcm/v1/writes": 403} {
		r := h.raw(cfg, "GET", path, "")
		if r.code != code {
			t.Errorf("%s: %d %s", path, r.code, r.body)
		}
		if code == 403 && !strings.Contains(r.status(t).Message, `User \"system:anonymous\"`) && !strings.Contains(r.status(t).Message, `User "system:anonymous"`) {
			t.Errorf("%s: %s", path, r.body)
		}
	}
}
