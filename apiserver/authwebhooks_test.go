package apiserver_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/authn"
	"minikcm.dev/minikcm/apiserver/internal/authz"
	"minikcm.dev/minikcm/internal/auth"
)

// startWebhook returns the kubeconfig of a webhook, which lives as long as the test.
func startWebhook(t testing.TB, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return fileOf(t, "webhook.yaml", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: hook, cluster: {server: "%s/review", certificate-authority-data: %s}}]
users: [{name: api, user: {}}]
contexts: [{name: x, context: {cluster: hook, user: api}}]
current-context: x
`, server.URL, ca))
}

// reviewing answers reviews of type R with what answer does to them, and counts them.
func reviewing[R any](t testing.TB, count *atomic.Int32, answer func(*R)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		var review R
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		answer(&review)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}
}

func TestTokenWebhook(t *testing.T) {
	var calls atomic.Int32
	path := startWebhook(t, reviewing(t, &calls, func(r *authenticationv1.TokenReview) {
		if r.APIVersion != "authentication.k8s.io/v1" || !slices.Equal(r.Spec.Audiences, []string{auth.DefaultIssuer}) {
			t.Errorf("it was sent %+v", r)
		}
		switch r.Spec.Token {
		case "good":
			r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "jane", UID: "7", Groups: []string{"dev"}}}
		case "bad":
			r.Status.Error = "the directory says no"
		}
	}))
	h := start(t, allowAll, authenticating(authn.Options{Webhook: authn.Webhook{ConfigFile: path, Version: "v1"}}))
	for range 3 {
		h.wantUser(h.asBearer("good"), authenticationv1.UserInfo{Username: "jane", UID: "7", Groups: []string{"dev", "system:authenticated"}})
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the webhook was called %d times, want once: its answer is kept", n)
	}
	status := wantReply(t, h.raw(h.asBearer("bad"), "GET", "/version", ""), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
	if strings.Contains(status.Message, "directory") {
		t.Errorf("the answer says why: %s", status.Message)
	}
	if got := h.review("bad"); got.Authenticated || got.Error != "the directory says no" {
		t.Errorf("%+v", got)
	}
	if got := h.review("unknown"); got.Authenticated || got.Error != "invalid bearer token" {
		t.Errorf("%+v", got)
	}
	n := calls.Load()
	if _, err := h.userOf(h.asBearer(h.tokenFor(authenticationv1.TokenRequestSpec{}))); err != nil || calls.Load() != n {
		t.Errorf("the token of a service account: %v, after %d calls of the webhook", err, calls.Load()-n)
	}
}

// TestTokenWebhookFails has the webhook answer with errors, too much, or a redirect.
func TestTokenWebhookFails(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		text   string
	}{
		"refused":    {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "internals", http.StatusForbidden) }, "403 Forbidden"},
		"redirected": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, "redirects are not followed"},
		"rubbish":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("rubbish")) }, "couldn't get version/kind"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, allowAll, authenticating(authn.Options{Webhook: authn.Webhook{ConfigFile: startWebhook(t, test.answer)}}))
			got := h.review("token")
			if got.Authenticated || !strings.Contains(got.Error, test.text) || strings.Contains(got.Error, "internals") {
				t.Errorf("want %q: %+v", test.text, got)
			}
			wantReply(t, h.raw(h.asBearer("token"), "GET", "/version", ""), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
		})
	}
}

// TestAuthorizationWebhook asks RBAC first, and the webhook about what no role allows.
func TestAuthorizationWebhook(t *testing.T) {
	var calls atomic.Int32
	path := startWebhook(t, reviewing(t, &calls, func(r *authorizationv1.SubjectAccessReview) {
		switch a := r.Spec.ResourceAttributes; {
		case r.Spec.User != "jane":
		case a != nil && a.Verb == "list" && a.Resource == "pods" && a.Namespace == "default" && a.Version == "v1":
			r.Status.Allowed = true
		case a != nil && a.Resource == "secrets":
			r.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "secrets are secret"}
		case r.Spec.NonResourceAttributes != nil && r.Spec.NonResourceAttributes.Path == "/metrics":
			r.Status.Allowed = true
		default:
			r.Status.Reason = "not in the directory"
		}
	}))
	h := start(t, func(o *apiserver.Options) {
		o.AuthorizationModes = []string{apiserver.AuthorizeRBAC, apiserver.AuthorizeWebhook}
		o.AuthorizationWebhook = authz.Webhook{ConfigFile: path, Version: "v1"}
	})
	jane := h.server.Config("jane")
	calls.Store(0)
	for range 3 {
		if got := h.raw(jane, "GET", "/api/v1/namespaces/default/pods", ""); got.code != 200 {
			t.Errorf("%d %s", got.code, got.body)
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the webhook was called %d times, want once: its answer is kept", n)
	}
	if got := h.raw(jane, "GET", "/metrics", ""); got.code != 200 {
		t.Errorf("%d %s", got.code, got.body)
	}
	wantReply(t, h.raw(jane, "GET", "/api/v1/namespaces/default/secrets", ""), 403, metav1.StatusReasonForbidden,
		`secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "default": secrets are secret`)
	wantReply(t, h.raw(jane, "DELETE", "/api/v1/namespaces/default/pods/x", ""), 403, metav1.StatusReasonForbidden,
		`pods "x" is forbidden: User "jane" cannot delete resource "pods" in API group "" in the namespace "default": not in the directory`)
	calls.Store(0)
	if got := h.send("GET", "/api/v1/namespaces/default/pods", ""); got.code != 200 || calls.Load() != 0 {
		t.Errorf("for system:masters: %d, after %d calls", got.code, calls.Load())
	}
	rules := must(h.client(jane).AuthorizationV1().SelfSubjectRulesReviews().Create(h.ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"},
	}, metav1.CreateOptions{}))(t)
	if s := rules.Status; !s.Incomplete || s.EvaluationError != "webhook authorizer does not support user rule resolution" {
		t.Errorf("%+v", s)
	}
}

// TestAuthorizationWebhookFails denies what only a webhook that fails could allow.
func TestAuthorizationWebhookFails(t *testing.T) {
	path := startWebhook(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "internals", http.StatusForbidden) })
	h := start(t, func(o *apiserver.Options) {
		o.AuthorizationModes = []string{apiserver.AuthorizeRBAC, apiserver.AuthorizeWebhook}
		o.AuthorizationWebhook = authz.Webhook{ConfigFile: path}
	})
	got := h.raw(h.server.Config("jane"), "GET", "/api/v1/namespaces/default/pods", "")
	if got.code != 500 || strings.Contains(string(got.body), "internals") {
		t.Errorf("%d %s", got.code, got.body)
	}
}
