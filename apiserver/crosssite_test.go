package apiserver_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
