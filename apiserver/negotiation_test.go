package apiserver_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
)

// The response to each Accept header is upstream's (k8s.io/apiserver's
// endpoints/handlers/negotiation and the routes before it).
func TestAccept(t *testing.T) {
	h := start(t)
	fill(t, h, 1)
	const one, all = mapsPath + "/m00", mapsPath
	const (
		json, yaml, proto = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
		table             = ";as=Table;v=v1;g=meta.k8s.io"
		partial           = ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
		partials          = ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
		routes            = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
		only              = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
	)
	for _, c := range []struct{ path, accept, want string }{
		{one, "", json},
		{one, "*/*", json},
		{one, "application/*", routes},
		{one, "application/*, */*;q=0.1", json},
		{one, json, json},
		{one, yaml, yaml},
		{one, proto, proto},
		{one, "application/cbor", routes},
		{one, "application/cbor,application/json", json},
		{one, "text/html", routes},
		{one, "text/html,*/*;q=0.8", json},
		{one, "application/JSON", routes},
		{one, json + ";q=0.5," + yaml, yaml},
		{one, json + ";q=0.5," + yaml + ";q=0.4", json},
		{one, "*/*," + yaml, yaml},
		{one, json + ";q=0", json},
		{one, json + ";charset=utf-8", json},
		{one, json + ";stream=watch", json},
		{one, json + ";stream=other", only},
		{one, json + ";sv=v1", json},
		{one, json + ";sv=v2", only},
		{one, json + table, json},
		{one, proto + table + "," + json, json},
		{one, proto + table, only},
		{one, json + ";as=Table;v=v2;g=meta.k8s.io", only},
		{one, json + ";as=Table;v=v1", only},
		{one, json + ";as=Poem;v=v1;g=meta.k8s.io", only},
		{one, json + ";as=Poem;v=v1;g=meta.k8s.io," + yaml, yaml},
		{one, json + partial, json},
		{one, proto + partial, proto},
		{one, json + partials, "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"},
		{all, json, json},
		{all, yaml + table, yaml},
		{all, json + partials, json},
		{all, proto + partials, proto},
		{all, json + partial, "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"},
		{all, "text/html", routes + ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"},
	} {
		r := h.send("GET", c.path, "", "Accept", c.accept)
		if strings.HasPrefix(c.want, "application/") {
			if r.code != 200 || r.header.Get("Content-Type") != c.want {
				t.Errorf("%s %q: %d %s", c.path, c.accept, r.code, r.header.Get("Content-Type"))
			}
			continue
		}
		s := wantReply(t, r, 406, metav1.StatusReasonNotAcceptable, "")
		if s.Message != c.want {
			t.Errorf("%s %q: %q", c.path, c.accept, s.Message)
		}
	}
}

// Some subresources have no form as a table.
func TestSubresourcesWithoutTable(t *testing.T) {
	h := start(t)
	h.mustSend("POST", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	const table, pod = "application/json;as=Table;v=v1;g=meta.k8s.io", "/api/v1/namespaces/default/pods/p"
	for _, sub := range []string{"/ephemeralcontainers", "/resize"} {
		wantReply(t, h.send("GET", pod+sub, "", "Accept", table), 406, metav1.StatusReasonNotAcceptable, "only the following media types are accepted")
		if r := h.send("GET", pod+sub, "", "Accept", table+",application/json"); r.code != 200 || !strings.Contains(string(r.body), `"kind":"Pod"`) {
			t.Errorf("%s: %d %s", sub, r.code, r.body)
		}
	}
	if r := h.send("GET", pod+"/status", "", "Accept", table); r.code != 200 {
		t.Errorf("a status as a table: %d %s", r.code, r.body)
	}
}

// Bodies in unsupported formats get upstream's errors.
func TestContentTypes(t *testing.T) {
	h := start(t)
	fill(t, h, 1)
	const body = `{"metadata":{"name":"x"}}`
	const read = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"
	for _, c := range []struct {
		method, path, contentType string
		code                      int32
		message                   string
	}{
		{"POST", "", "application/json", 201, ""},
		{"POST", "", "application/json; charset=utf-8", 201, ""},
		{"POST", "", "application/yaml", 201, ""},
		{"POST", "", "Application/JSON", 201, ""},
		{"POST", "", "application/cbor", 415, read},
		{"POST", "", "text/yaml", 415, read},
		{"POST", "", "application/x-yaml", 415, read},
		{"POST", "", "text/plain", 415, read},
		{"POST", "", "/", 415, read},
		{"PUT", "/x", "text/plain", 415, read},
		{"PATCH", "/x", "application/json", 415, "415: Unsupported Media Type"},
		{"PATCH", "/x", "application/apply-patch+cbor", 415, "415: Unsupported Media Type"},
		{"PATCH", "/x", "", 415, "415: Unsupported Media Type"},
		{"PATCH", "/x", "application/merge-patch+json", 200, ""},
	} {
		r := h.send(c.method, mapsPath+c.path, body, "Content-Type", c.contentType)
		if int32(r.code) != c.code {
			t.Errorf("%s %q: %d %s", c.method, c.contentType, r.code, r.body)
			continue
		}
		if c.message != "" && wantReply(t, r, c.code, metav1.StatusReasonUnsupportedMediaType, "").Message != c.message {
			t.Errorf("%s %q: %s", c.method, c.contentType, r.body)
		}
		if c.method == "POST" && c.code == 201 {
			h.mustSend("DELETE", mapsPath+"/x", "")
			if c.contentType == "Application/JSON" {
				h.mustSend("POST", mapsPath, body)
			}
		}
	}
}

func TestMethods(t *testing.T) {
	h := start(t)
	fill(t, h, 1)
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"HEAD", mapsPath, 405},
		{"HEAD", mapsPath + "/m00", 405},
		{"OPTIONS", mapsPath + "/m00", 405},
		{"TRACE", mapsPath, 405},
		{"POST", mapsPath + "/m00", 405},
		{"PUT", mapsPath, 405},
		{"PATCH", mapsPath, 405},
		{"PUT", "/api/v1/configmaps", 405},
		{"GET", mapsPath + "/m00/status", 404},
		{"DELETE", "/api/v1/namespaces", 405},
		{"GET", "/api/v1/namespaces/default/bindings", 405},
	} {
		// An error in the method is reported before an error in the format.
		r := h.send(c.method, c.path, "", "Accept", "text/html", "Content-Type", "text/html")
		if r.code != c.code {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.code, r.body)
		}
		if c.code == 405 && c.method != "HEAD" {
			wantReply(t, r, 405, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
		}
	}
}

func TestHeaders(t *testing.T) {
	h := start(t)
	fill(t, h, 1)
	random := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for _, path := range []string{mapsPath, mapsPath + "/m00", mapsPath + "/none", "/version", "/none", "/api", "/openapi/v3"} {
		r := h.send("GET", path, "")
		id := r.header.Get("Audit-Id")
		if !random.MatchString(id) || seen[id] {
			t.Errorf("%s: Audit-Id %q", path, id)
		}
		seen[id] = true
		if r.code == 200 && r.header.Get("Cache-Control") != "no-cache, private" {
			t.Errorf("%s: Cache-Control %q", path, r.header.Get("Cache-Control"))
		}
	}
	if id := h.send("GET", mapsPath, "", "Audit-Id", "mine").header.Get("Audit-Id"); id != "mine" {
		t.Errorf("the client's Audit-Id became %q", id)
	}
	aggregated := h.mustSend("GET", "/apis", "", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	if got := aggregated.header.Get("Cache-Control"); got != "public" {
		t.Errorf("discovery: Cache-Control %q", got)
	}
	pretty := h.mustSend("GET", mapsPath+"/m00", "", "Accept", "application/json;pretty=1")
	if !strings.HasPrefix(string(pretty.body), "{\n  \"kind\"") {
		t.Errorf("pretty: %s", pretty.body)
	}
}

func TestRequestTimeouts(t *testing.T) {
	h := start(t)
	fill(t, h, 1)
	for timeout, code := range map[string]int{"": 200, "0s": 200, "10s": 200, "-1s": 200, "2h": 200, "x": 400, "10": 400} {
		r := h.send("GET", mapsPath+"?timeout="+timeout, "")
		if r.code != code {
			t.Errorf("timeout %q: %d %s", timeout, r.code, r.body)
		}
		if code == 400 {
			wantReply(t, r, 400, metav1.StatusReasonBadRequest, "invalid timeout specified in the request URL - time: ")
		}
	}
	// A request that waits for longer than its timeout ends.
	r := h.send("GET", mapsPath+"?timeout=1ms&resourceVersion=100000", "")
	s := wantReply(t, r, 504, metav1.StatusReasonTimeout, "Timeout: request did not complete within the allotted timeout")
	if len(s.Details.Causes) != 0 {
		t.Errorf("%+v", s)
	}
}

// A watch that starts with a state is compressed for clients that support it.
func TestWatchCompressed(t *testing.T) {
	h := start(t)
	fill(t, h, 3)
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	const watched = mapsPath + "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	resp := h.open(ctx, inMemory().config(h), "GET", watched, "", "Accept-Encoding", "gzip")
	defer resp.Body.Close() // ended by its context
	if resp.Header.Get("Content-Encoding") != "gzip" || resp.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("%v", resp.Header)
	}
	plain, err := gzip.NewReader(bufio.NewReader(resp.Body))
	if err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(plain)
	next := func(want string) {
		t.Helper()
		var event struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		if err := lines.Decode(&event); err != nil || event.Type+event.Object.Name != want {
			t.Fatalf("%+v, want %s: %v", event, want, err)
		}
	}
	for _, want := range []string{"ADDEDm00", "ADDEDm01", "ADDEDm02", "BOOKMARK"} {
		next(want)
	}
	big := strings.Repeat("x", 200_000) // more than one stored block
	for _, name := range []string{"n0", "n1"} {
		h.mustSend("POST", mapsPath, asJSON(t, configMap(name, "k", big)))
		next("ADDED" + name)
	}
	other := h.open(ctx, inMemory().config(h), "GET", mapsPath+"?watch=true&resourceVersion=1", "", "Accept-Encoding", "gzip")
	if got := other.Header.Get("Content-Encoding"); got != "" {
		t.Errorf("a watch without a state is encoded: %q", got)
	}
	_ = other.Body.Close()
}

func TestGzipIsAskedFor(t *testing.T) {
	h := start(t)
	h.mustSend("POST", mapsPath, asJSON(t, configMap("big", "k", strings.Repeat("x", 140_000))))
	h.mustSend("POST", mapsPath, asJSON(t, configMap("small", "k", strings.Repeat("x", 120_000))))
	for _, c := range []struct {
		name, accept string
		gzipped      bool
	}{
		{"big", "gzip", true},
		{"big", "deflate, gzip", true},
		{"big", "gzip;q=0", false},
		{"big", "xgzip", false},
		{"big", "identity", false},
		{"small", "gzip", false},
	} {
		r := h.mustSend("GET", mapsPath+"/"+c.name, "", "Accept-Encoding", c.accept)
		if got := r.header.Get("Content-Encoding") == "gzip"; got != c.gzipped {
			t.Errorf("%+v: %v", c, r.header)
			continue
		}
		data := r.body
		if c.gzipped {
			plain := must(gzip.NewReader(bytes.NewReader(data)))(t)
			data = must(io.ReadAll(plain))(t)
		}
		if !json.Valid(data) {
			t.Errorf("%+v: %.40q", c, data)
		}
	}
}

// A log is text whatever the client accepts, but upstream refuses what it would not accept for an object.
func TestLogOptions(t *testing.T) {
	const log, named = "/api/v1/namespaces/default/pods/p/log", "&container=c"
	for _, split := range []bool{false, true} {
		h := start(t, func(o *apiserver.Options) { o.SplitLogs = split })
		h.mustSend("POST", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		for _, c := range []struct {
			query, accept string
			code          int
			message       string
		}{
			{"", "", 204, ""},
			{"", "*/*", 204, ""},
			{"", "application/json, */*", 204, ""},
			{"", "application/yaml", 204, ""},
			{"", "application/cbor", 406, "406: Not Acceptable\n\nAvailable representations: text/plain, application/json, application/yaml, application/vnd.kubernetes.protobuf"},
			{"", "text/plain", 406, "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
			{"", "text/plain,application/json", 204, ""},
			{"", "application/json;as=Table;v=v1;g=meta.k8s.io", 406, "only the following media types are accepted"},
			{"stream=x", "", 422, map[bool]string{false: "stream: Forbidden: may not be specified", true: `stream: Unsupported value: "x"`}[split]},
			{"stream=Stdout", "", map[bool]int{false: 422, true: 204}[split], map[bool]string{false: "stream: Forbidden: may not be specified"}[split]},
		} {
			r := h.send("GET", log+"?"+c.query+named, "", "Accept", c.accept)
			if r.code != c.code || c.message != "" && !strings.Contains(r.status(t).Message, c.message) {
				t.Errorf("split %v: %q as %q: %d %s", split, c.query, c.accept, r.code, r.body)
			}
		}
	}
}
