package apiserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/authn"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

// authenticating is an option of start.
func authenticating(opts authn.Options) func(*apiserver.Options) {
	return func(o *apiserver.Options) { o.Authentication = opts }
}

// fileOf writes a file for the test.
func fileOf(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// anotherAuthority returns an authority that the server does not know, issued some time ago.
func anotherAuthority(t testing.TB, name string, ago time.Duration) *auth.Authority {
	t.Helper()
	return must(auth.NewAuthority(name, clock.Real().Now().Add(-ago)))(t)
}

// asClient returns a client over HTTPS that shows a certificate, whatever authorities the
// server lists; nil: none. headers are alternating names and values.
func (h *harness) asClient(certificate *auth.KeyPair, headers ...string) *rest.Config {
	h.t.Helper()
	ca := must(authority())(h.t)
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate)
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if certificate != nil {
		shown := certificate.TLS()
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	return &rest.Config{Host: "https://" + h.https().Address(), QPS: -1, Transport: withHeaders{transport, headers}}
}

// withHeaders adds headers to each request.
type withHeaders struct {
	*http.Transport
	headers []string
}

func (t withHeaders) RoundTrip(rq *http.Request) (*http.Response, error) {
	rq = rq.Clone(rq.Context())
	for i := 0; i < len(t.headers); i += 2 {
		rq.Header.Add(t.headers[i], t.headers[i+1])
	}
	return t.Transport.RoundTrip(rq)
}

// userOf returns the user that the server takes a client for.
func (h *harness) userOf(cfg *rest.Config) (authenticationv1.UserInfo, error) {
	h.t.Helper()
	review, err := h.client(cfg).AuthenticationV1().SelfSubjectReviews().Create(h.ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

// wantUser fails the test unless the server takes a client for a user in groups, except for
// the extra field of certificates.
func (h *harness) wantUser(cfg *rest.Config, want authenticationv1.UserInfo) {
	h.t.Helper()
	got, err := h.userOf(cfg)
	if err != nil {
		h.t.Error(err)
		return
	}
	delete(got.Extra, "authentication.kubernetes.io/credential-id")
	if len(got.Extra) == 0 {
		got.Extra = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Error(diff)
	}
}

// review asks the server whose a token is.
func (h *harness) review(token string, audiences ...string) authenticationv1.TokenReviewStatus {
	h.t.Helper()
	asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}
	return must(h.client().AuthenticationV1().TokenReviews().Create(h.ctx, asked, metav1.CreateOptions{}))(h.t).Status
}

func TestTokenFile(t *testing.T) {
	path := fileOf(t, "tokens.csv", []byte("# not a comment,x,y\ns3cret,jane,17,\"dev,ops\"\nplain,joe,18\n"))
	h := start(t, allowAll, authenticating(authn.Options{TokenAuthFile: path}))
	jane := authenticationv1.UserInfo{Username: "jane", UID: "17", Groups: []string{"dev", "ops", "system:authenticated"}}
	h.wantUser(h.asBearer("s3cret"), jane)
	h.wantUser(h.asBearer("plain"), authenticationv1.UserInfo{Username: "joe", UID: "18", Groups: []string{"system:authenticated"}})
	if account := must(h.userOf(h.asBearer(h.tokenFor(authenticationv1.TokenRequestSpec{}))))(t); account.Username != "system:serviceaccount:default:default" {
		t.Errorf("the token of a service account is of %v", account)
	}
	if got := h.review("s3cret"); !got.Authenticated || got.User.Username != "jane" || !slices.Equal(got.Audiences, []string{auth.DefaultIssuer}) {
		t.Errorf("%+v", got)
	}
	if got := h.review("s3cret", "elsewhere"); got.Authenticated || got.Error != "invalid bearer token" {
		t.Errorf("for another audience: %+v", got)
	}
	wantReply(t, h.raw(h.asBearer("s3cre"), "GET", "/api/v1/pods", ""), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
}

func TestClientAuthorities(t *testing.T) {
	partner := anotherAuthority(t, "partner", 0)
	h := start(t, allowAll, authenticating(authn.Options{ClientCAFile: fileOf(t, "ca.crt", partner.CertPEM())}))
	h.wantUser(h.asClient(must(partner.Client("jane", "dev"))(t)), authenticationv1.UserInfo{Username: "jane", Groups: []string{"dev", "system:authenticated"}})
	h.wantUser(overHTTPS().config(h), authenticationv1.UserInfo{Username: "tester", Groups: []string{"system:masters", "system:authenticated"}})
}

// proxied returns the options for a front proxy with an authority.
func proxied(t testing.TB, by *auth.Authority) authn.Options {
	t.Helper()
	return authn.Options{RequestHeader: authn.RequestHeader{
		ClientCAFile: fileOf(t, "proxy.crt", by.CertPEM()), AllowedNames: []string{"front-proxy-client"},
		UsernameHeaders: []string{"X-Remote-User"}, UIDHeaders: []string{"X-Remote-Uid"}, GroupHeaders: []string{"X-Remote-Group"}, ExtraHeadersPrefix: []string{"X-Remote-Extra-"},
	}}
}

// TestFrontProxy sends the headers of a front proxy with and without its certificate.
func TestFrontProxy(t *testing.T) {
	by := anotherAuthority(t, "front-proxy-ca", 0)
	h := start(t, authenticating(proxied(t, by)))
	named := []string{"X-Remote-User", "jane", "X-Remote-Uid", "7", "X-Remote-Group", "dev", "X-Remote-Group", "ops", "X-Remote-Extra-Scopes%2Fa", "read"}
	proxy := must(by.Client("front-proxy-client"))(t)
	h.wantUser(h.asClient(proxy, named...), authenticationv1.UserInfo{
		Username: "jane", UID: "7", Groups: []string{"dev", "ops", "system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"scopes/a": {"read"}},
	})
	tester := must(must(authority())(t).Client("tester", "system:masters"))(t)
	h.wantUser(h.asClient(tester, named...), authenticationv1.UserInfo{Username: "tester", Groups: []string{"system:masters", "system:authenticated"}})
	for name, cfg := range map[string]*rest.Config{
		"another name":     h.asClient(must(by.Client("someone"))(t), named...),
		"another CA":       h.asClient(must(anotherAuthority(t, "front-proxy-ca", 0).Client("front-proxy-client"))(t), named...),
		"no user":          h.asClient(proxy, "X-Remote-Group", "system:masters"),
		"an expired proxy": h.asClient(must(anotherAuthority(t, "front-proxy-ca", 2*366*24*time.Hour).Client("front-proxy-client"))(t), named...),
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second time it is cached
				wantReply(t, h.raw(cfg, "GET", "/api/v1/pods", ""), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
			}
		})
	}
	wantReply(t, h.raw(h.asClient(nil, named...), "GET", "/api/v1/pods", ""), 403, metav1.StatusReasonForbidden, `User "system:anonymous" cannot list resource "pods"`)
}

// TestAnonymousAuth turns anonymous requests off.
func TestAnonymousAuth(t *testing.T) {
	no := false
	h := start(t, allowAll, authenticating(authn.Options{Anonymous: &no}))
	wantReply(t, h.raw(h.asClient(nil), "GET", "/version", ""), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
	h.wantUser(overHTTPS().config(h), authenticationv1.UserInfo{Username: "tester", Groups: []string{"system:masters", "system:authenticated"}})
}

// TestBadCredentials makes requests with credentials that must not be accepted, and with
// good ones for something that they do not allow.
func TestBadCredentials(t *testing.T) {
	by := anotherAuthority(t, "front-proxy-ca", 0)
	old := anotherAuthority(t, "old", 2*366*24*time.Hour)
	future := anotherAuthority(t, "future", -24*time.Hour)
	opts := proxied(t, by)
	opts.ClientCAFile = fileOf(t, "ca.crt", append(old.CertPEM(), future.CertPEM()...))
	opts.TokenAuthFile = fileOf(t, "tokens.csv", []byte("s3cret,jane,17\n"))
	h := start(t, authenticating(opts))
	ca := must(authority())(t)
	jane := must(ca.Client("jane"))(t)
	serving := must(ca.Server("jane"))(t)
	for name, test := range map[string]struct {
		cfg  *rest.Config
		code int32
		text string
	}{
		"another CA's certificate":     {h.asClient(must(anotherAuthority(t, "test-ca", 0).Client("tester", "system:masters"))(t)), 401, ""},
		"an expired certificate":       {h.asClient(must(old.Client("tester", "system:masters"))(t)), 401, ""},
		"a certificate of tomorrow":    {h.asClient(must(future.Client("tester", "system:masters"))(t)), 401, ""},
		"a server's certificate":       {h.asClient(serving), 401, ""},
		"the front proxy's, for jane":  {h.asClient(must(by.Client("front-proxy-client", "system:masters"))(t)), 401, ""},
		"an unknown token":             {h.asBearer("s3cre"), 401, ""},
		"a token in another case":      {h.asBearer("S3CRET"), 401, ""},
		"a password":                   {h.asClient(nil, "Authorization", "Basic amFuZTpzM2NyZXQ="), 403, `User "system:anonymous" cannot list`},
		"headers of a front proxy":     {h.asClient(nil, "X-Remote-User", "tester", "X-Remote-Group", "system:masters"), 403, `User "system:anonymous" cannot list`},
		"these, with a certificate":    {h.asClient(jane, "X-Remote-User", "tester", "X-Remote-Group", "system:masters"), 403, `User "jane" cannot list`},
		"these, with a token":          {h.asClient(nil, "Authorization", "Bearer s3cret", "X-Remote-Group", "system:masters"), 403, `User "jane" cannot list`},
		"impersonation":                {h.asClient(jane, "Impersonate-User", "tester", "Impersonate-Group", "system:masters"), 403, `User "jane" cannot impersonate`},
		"impersonation by nobody":      {h.asClient(nil, "Impersonate-User", "tester"), 403, `User "system:anonymous" cannot impersonate`},
		"impersonation without a name": {h.asClient(jane, "Impersonate-Group", "system:masters"), 400, "without impersonating a user name"},
	} {
		t.Run(name, func(t *testing.T) {
			reason := map[int32]metav1.StatusReason{400: metav1.StatusReasonBadRequest, 401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden}[test.code]
			status := wantReply(t, h.raw(test.cfg, "GET", "/api/v1/pods", ""), test.code, reason, test.text)
			if test.code == 401 && (status.Message != "Unauthorized" || status.Details != nil) {
				t.Errorf("the answer says why: %+v", status)
			}
		})
	}
	h.wantUser(h.asClient(must(anotherAuthority(t, "x", 0).Client("x"))(t), "Authorization", "Bearer s3cret"), authenticationv1.UserInfo{Username: "jane", UID: "17", Groups: []string{"system:authenticated"}})
}
