package apiserver_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/clock"
)

// TestCrossSite makes the requests that pages of the same and of another origin make a
// browser send with its certificate.
func TestCrossSite(t *testing.T) {
	h := start(t)
	cfg := overHTTP1().config(h)
	const path = "/api/v1/namespaces/default/configmaps"
	const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"a"}}`
	for _, site := range []string{"", "none", "same-origin"} {
		if got := h.raw(cfg, "POST", path, body, "Content-Type", "application/json", "Sec-Fetch-Site", site); got.code != 201 {
			t.Errorf("a write from %q: %d %s", site, got.code, got.body)
		}
	}
	for _, site := range []string{"cross-site", "same-site"} {
		headers := []string{"Origin", "https://example.com", "Sec-Fetch-Site", site}
		if got := h.raw(cfg, "GET", path, "", headers...); got.code != 200 || got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("a read from %s: %d, %v", site, got.code, got.header)
		}
		const text = "a page of another origin made the browser send this request"
		wantReply(t, h.raw(cfg, "POST", path, body, append(headers, "Content-Type", "application/json")...), 403, metav1.StatusReasonForbidden, text)
		wantReply(t, h.raw(cfg, "DELETE", path, "", headers...), 403, metav1.StatusReasonForbidden, text)
		wantReply(t, h.raw(cfg, "POST", "/minikcm/v1/reset", "", headers...), 403, metav1.StatusReasonForbidden, text)
		wantReply(t, h.raw(cfg, "GET", "/api/v1/namespaces/default/pods/x/exec?command=sh", "", append(headers, "Upgrade", "websocket", "Connection", "Upgrade")...), 403, metav1.StatusReasonForbidden, text)
	}
}

// TestCrossSiteIsAudited compares the audit events of refused requests of a browser: they name
// the user of its certificate.
func TestCrossSiteIsAudited(t *testing.T) {
	var mu sync.Mutex
	var events []string
	policy := &auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelMetadata}}}
	auditor := must(audit.New(audit.Options{Policy: policy, Events: func(e *auditv1.Event) {
		if e.UserAgent != "a browser" {
			return
		}
		line := fmt.Sprintf("%s %s %s %s", e.Stage, e.Verb, e.RequestURI, e.User.Username)
		if e.ResponseStatus != nil {
			line += fmt.Sprintf(" %d %s", e.ResponseStatus.Code, e.ResponseStatus.Reason)
		}
		mu.Lock()
		defer mu.Unlock()
		events = append(events, line)
	}}, clock.Real(), klog.Background()))(t)
	t.Cleanup(func() { _ = auditor.Close() })
	h := start(t, func(o *apiserver.Options) { o.Audit = auditor })
	headers := []string{"User-Agent", "a browser", "Sec-Fetch-Site", "cross-site"}
	const path = "/api/v1/namespaces/default/configmaps/x"
	for _, cfg := range []string{"tester", ""} {
		config := overHTTP1().config(h)
		if cfg == "" {
			config.CertData, config.KeyData = nil, nil
		}
		if got := h.raw(config, "DELETE", path, "", headers...); got.code != 403 {
			t.Errorf("%q: %d %s", cfg, got.code, got.body)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"RequestReceived delete " + path + " tester", "ResponseComplete delete " + path + " tester 403 Forbidden",
		"RequestReceived delete " + path + " system:anonymous", "ResponseComplete delete " + path + " system:anonymous 403 Forbidden",
	}
	if diff := cmp.Diff(want, slices.Clone(events)); diff != "" {
		t.Error(diff)
	}
}
