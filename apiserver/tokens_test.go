package apiserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

// tokenFor requests a token of the service account default/default.
func (h *harness) tokenFor(spec authenticationv1.TokenRequestSpec) string {
	h.t.Helper()
	got, err := h.client().CoreV1().ServiceAccounts("default").CreateToken(h.ctx, "default", &authenticationv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return got.Status.Token
}

// asBearer returns a client over HTTPS that has only a token.
func (h *harness) asBearer(token string) *rest.Config {
	h.t.Helper()
	cfg := overHTTPS().config(h)
	return &rest.Config{Host: cfg.Host, QPS: -1, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: cfg.CAData}}
}

func TestTokenRequest(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		accounts := h.client(cfg).CoreV1().ServiceAccounts("default")
		account := must(accounts.Get(h.ctx, "default", metav1.GetOptions{}))(t)
		got, err := accounts.CreateToken(h.ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != "default" || got.Namespace != "default" || got.UID != account.UID || *got.Spec.ExpirationSeconds != 3600 ||
			!cmp.Equal(got.Spec.Audiences, []string{auth.DefaultIssuer}) || got.CreationTimestamp.IsZero() {
			t.Errorf("got %v", got)
		}
		if lasts := got.Status.ExpirationTimestamp.Sub(got.CreationTimestamp.Time); lasts != time.Hour {
			t.Errorf("it lasts %v", lasts)
		}
		self, err := h.client(h.asBearer(got.Status.Token)).AuthenticationV1().SelfSubjectReviews().Create(h.ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		info := self.Status.UserInfo
		if info.Username != "system:serviceaccount:default:default" || info.UID != string(account.UID) ||
			!cmp.Equal(info.Groups, []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}) ||
			!strings.HasPrefix(info.Extra["authentication.kubernetes.io/credential-id"][0], "JTI=") {
			t.Errorf("it is %v", info)
		}
	})
}

// TestTokenRequestRefused requests tokens that cannot be issued.
func TestTokenRequestRefused(t *testing.T) {
	h := start(t)
	client := h.client()
	must(client.CoreV1().Pods("default").Create(h.ctx, pod("mine"), metav1.CreateOptions{}))(t)
	other := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	must(client.CoreV1().ServiceAccounts("default").Create(h.ctx, other, metav1.CreateOptions{}))(t)
	seconds := func(n int64) authenticationv1.TokenRequestSpec {
		return authenticationv1.TokenRequestSpec{ExpirationSeconds: &n}
	}
	bound := func(kind, name, uid string) authenticationv1.TokenRequestSpec {
		return authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID(uid)}}
	}
	for name, test := range map[string]struct {
		account string
		request authenticationv1.TokenRequest
		code    int32
		reason  metav1.StatusReason
		text    string
	}{
		"no account":       {"none", authenticationv1.TokenRequest{}, 404, metav1.StatusReasonNotFound, `serviceaccounts "none" not found`},
		"too short":        {"default", authenticationv1.TokenRequest{Spec: seconds(599)}, 422, metav1.StatusReasonInvalid, "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"},
		"too long":         {"default", authenticationv1.TokenRequest{Spec: seconds(1<<32 + 1)}, 422, metav1.StatusReasonInvalid, "may not specify a duration larger than 2^32 seconds"},
		"another name":     {"default", authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, 422, metav1.StatusReasonInvalid, "must match the service account name if specified"},
		"another UID":      {"default", authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{UID: "x"}}, 409, metav1.StatusReasonConflict, "the UID in the token request (x) does not match the UID of the service account"},
		"no pod":           {"default", authenticationv1.TokenRequest{Spec: bound("Pod", "none", "")}, 404, metav1.StatusReasonNotFound, `pods "none" not found`},
		"another pod":      {"default", authenticationv1.TokenRequest{Spec: bound("Pod", "mine", "x")}, 409, metav1.StatusReasonConflict, "the UID in the bound object reference (x) does not match the UID in record"},
		"another's pod":    {"other", authenticationv1.TokenRequest{Spec: bound("Pod", "mine", "")}, 400, metav1.StatusReasonBadRequest, `cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.`},
		"no secret":        {"default", authenticationv1.TokenRequest{Spec: bound("Secret", "none", "")}, 404, metav1.StatusReasonNotFound, `secrets "none" not found`},
		"no node":          {"default", authenticationv1.TokenRequest{Spec: bound("Node", "none", "")}, 404, metav1.StatusReasonNotFound, `nodes "none" not found`},
		"something else":   {"default", authenticationv1.TokenRequest{Spec: bound("Service", "kubernetes", "")}, 400, metav1.StatusReasonBadRequest, "cannot bind token to object of type /v1, Kind=Service"},
		"another's family": {"default", authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "x"}}, 400, metav1.StatusReasonBadRequest, "namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.CoreV1().ServiceAccounts("default").CreateToken(h.ctx, test.account, &test.request, metav1.CreateOptions{})
			wantStatus(t, err, test.code, test.reason, test.text)
		})
	}
}

// TestBoundTokenEnds uses a pod's token until the pod is deleted.
func TestBoundTokenEnds(t *testing.T) {
	h := start(t, allowAll)
	created := must(h.client().CoreV1().Pods("default").Create(h.ctx, pod("mine"), metav1.CreateOptions{}))(t)
	token := h.tokenFor(authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To[int64](3607),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", Name: "mine", UID: created.UID},
	})
	review := func() authenticationv1.TokenReviewStatus {
		t.Helper()
		asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		return must(h.client().AuthenticationV1().TokenReviews().Create(h.ctx, asked, metav1.CreateOptions{}))(t).Status
	}
	got := review()
	if !got.Authenticated || got.User.Extra["authentication.kubernetes.io/pod-uid"][0] != string(created.UID) || !cmp.Equal(got.Audiences, []string{auth.DefaultIssuer}) {
		t.Errorf("got %v", got)
	}
	bearer := h.client(h.asBearer(token))
	must(bearer.CoreV1().Pods("default").Get(h.ctx, "mine", metav1.GetOptions{}))(t)
	if err := bearer.CoreV1().Pods("default").Delete(h.ctx, "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := bearer.CoreV1().Pods("default").List(h.ctx, metav1.ListOptions{})
	status := wantStatus(t, err, 401, metav1.StatusReasonUnauthorized, "Unauthorized")
	if status.Message != "Unauthorized" {
		t.Errorf("message %q", status.Message)
	}
	if got := review(); got.Authenticated || got.Error != "service account token has been invalidated" || got.User.Username != "" {
		t.Errorf("then: %v", got)
	}
}

func TestTokenReviewAudiences(t *testing.T) {
	h := start(t)
	token := h.tokenFor(authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}})
	for _, test := range []struct {
		audiences []string
		want      authenticationv1.TokenReviewStatus
	}{
		{nil, authenticationv1.TokenReviewStatus{Error: `token audiences ["vault"] is invalid for the target audiences ["` + auth.DefaultIssuer + `"]`}},
		{[]string{"other", "vault"}, authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"vault"}}},
	} {
		asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: test.audiences}}
		got := must(h.client().AuthenticationV1().TokenReviews().Create(h.ctx, asked, metav1.CreateOptions{}))(t).Status
		got.User = authenticationv1.UserInfo{}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("for %v: %s", test.audiences, diff)
		}
	}
	_, err := h.client().AuthenticationV1().TokenReviews().Create(h.ctx, &authenticationv1.TokenReview{}, metav1.CreateOptions{})
	wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "token is required for TokenReview in authentication")
	wantStatus(t, h.client(h.asBearer(token)).CoreV1().Pods("default").Delete(h.ctx, "x", metav1.DeleteOptions{}), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
}

// TestUnauthorized sends several kinds of invalid tokens.
func TestUnauthorized(t *testing.T) {
	h := start(t)
	noToken := h.asBearer("")
	for _, value := range []string{"Bearer x", "bearer a.b.c", "Bearer eyJhbGciOiJub25lIn0.e30."} {
		r := h.raw(noToken, http.MethodGet, "/api/v1/pods", "", "Authorization", value)
		if status := wantReply(t, r, 401, metav1.StatusReasonUnauthorized, "Unauthorized"); status.Details != nil {
			t.Errorf("%q: details %v", value, status.Details)
		}
	}
	wantReply(t, h.raw(noToken, http.MethodGet, "/api/v1/namespaces/default/pods", ""), 403, metav1.StatusReasonForbidden,
		`pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "default"`)
	wantReply(t, h.raw(noToken, http.MethodGet, "/apis/apps/v1/deployments", ""), 403, metav1.StatusReasonForbidden,
		`deployments.apps is forbidden: User "system:anonymous" cannot list resource "deployments" in API group "apps" at the cluster scope`)
	wantReply(t, h.raw(noToken, http.MethodGet, "/apis/", ""), 403, metav1.StatusReasonForbidden, `forbidden: User "system:anonymous" cannot get path "/apis/"`)
	if r := h.raw(noToken, http.MethodGet, "/version", ""); r.code != 200 {
		t.Errorf("/version: %d", r.code)
	}
}

// TestTokenDiscovery verifies a token with the published keys.
func TestTokenDiscovery(t *testing.T) {
	h := start(t)
	var configuration struct {
		Issuer     string   `json:"issuer"`
		KeySet     string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	cfg := overHTTPS().config(h)
	r := h.raw(cfg, http.MethodGet, "/.well-known/openid-configuration", "")
	r.into(t, &configuration)
	if configuration.Issuer != auth.DefaultIssuer || configuration.KeySet != cfg.Host+"/openid/v1/jwks" || !cmp.Equal(configuration.Algorithms, []string{"ES256"}) {
		t.Errorf("got %s", r.body)
	}
	r = h.raw(cfg, http.MethodGet, "/openid/v1/jwks", "")
	if got := r.header.Get("Content-Type"); got != "application/jwk-set+json" {
		t.Errorf("Content-Type %s", got)
	}
	keys := struct{ Keys []map[string]string }{}
	if err := json.Unmarshal(r.body, &keys); err != nil || len(keys.Keys) != 1 || keys.Keys[0]["kty"] != "EC" || keys.Keys[0]["crv"] != "P-256" {
		t.Fatalf("%v: %s", err, r.body)
	}
	verifyWith(t, keys.Keys[0], h.tokenFor(authenticationv1.TokenRequestSpec{}))
}

// TestForeignCertificate sends a certificate of another authority, alone and with a
// token.
func TestForeignCertificate(t *testing.T) {
	h := start(t, allowAll)
	cfg := overHTTPS().config(h)
	if self := must(h.client(cfg).AuthenticationV1().SelfSubjectReviews().Create(h.ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}))(t); !strings.HasPrefix(self.Status.UserInfo.Extra["authentication.kubernetes.io/credential-id"][0], "X509SHA256=") {
		t.Errorf("its own: %v", self.Status.UserInfo)
	}
	pair := must(must(auth.NewAuthority("other", clock.Real().Now()))(t).Client("mallory", auth.GroupMasters))(t)
	cfg.CertData, cfg.KeyData = pair.CertPEM(), must(pair.KeyPEM())(t)
	_, err := h.client(cfg).CoreV1().Pods("default").List(h.ctx, metav1.ListOptions{})
	wantStatus(t, err, 401, metav1.StatusReasonUnauthorized, "Unauthorized")
	cfg.BearerToken = h.tokenFor(authenticationv1.TokenRequestSpec{})
	must(h.client(cfg).CoreV1().Pods("default").List(h.ctx, metav1.ListOptions{}))(t)
}
