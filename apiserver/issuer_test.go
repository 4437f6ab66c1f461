package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/authn"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

// issuer issues tokens, and serves the documents by which they are verified.
type issuer struct {
	t      testing.TB
	server *httptest.Server
	key    *ecdsa.PrivateKey
	// keys replaces the answer with the keys if it is set before the first request.
	keys http.HandlerFunc
}

func startIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{t: t, key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.server.URL, "jwks_uri": i.server.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, r *http.Request) {
		if i.keys != nil {
			i.keys(w, r)
			return
		}
		point, err := i.key.PublicKey.Bytes()
		if err != nil {
			t.Error(err)
		}
		encode := base64.RawURLEncoding.EncodeToString
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{{"kty": "EC", "use": "sig", "alg": "ES256", "kid": "k", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])}}})
	})
	i.server = httptest.NewUnstartedServer(mux)
	i.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	i.server.StartTLS()
	t.Cleanup(i.server.Close)
	return i
}

func (i *issuer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw})
}

// claims returns valid claims with changes; a nil value removes a claim.
func (i *issuer) claims(changes jwt.MapClaims) jwt.MapClaims {
	now := clock.Real().Now()
	claims := jwt.MapClaims{"iss": i.server.URL, "aud": "minikcm", "sub": "jane", "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "groups": []string{"dev"}}
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return claims
}

func (i *issuer) sign(changes jwt.MapClaims) string {
	i.t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, i.claims(changes))
	token.Header["kid"] = "k"
	return must(token.SignedString(i.key))(i.t)
}

// configured returns the options with an AuthenticationConfiguration of the issuer. rest is
// YAML: further fields of the issuer's entry, indented by two spaces, or of the document.
func (i *issuer) configured(rest string) authn.Options {
	i.t.Helper()
	ca := strings.ReplaceAll(strings.TrimSpace(string(i.ca())), "\n", "\n      ")
	text := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- issuer:\n    url: %s\n    audiences: [minikcm]\n    certificateAuthority: |\n      %s\n%s", i.server.URL, ca, rest)
	return authn.Options{ConfigFile: fileOf(i.t, "authentication.yaml", []byte(text))}
}

const plainMapping = `  claimMappings:
    username: {claim: sub, prefix: "corp:"}
    groups: {claim: groups, prefix: ""}
`

// known waits until the server knows the issuer's keys: it asks for them in the background.
func (h *harness) known(token string) {
	h.t.Helper()
	for got := h.review(token); !got.Authenticated; got = h.review(token) {
		if h.ctx.Err() != nil || !strings.Contains(got.Error, "not initialized") {
			h.t.Fatalf("the token is not accepted: %+v", got)
		}
	}
}

// TestStructuredAuthentication maps and checks claims with expressions.
func TestStructuredAuthentication(t *testing.T) {
	i := startIssuer(t)
	h := start(t, allowAll, authenticating(i.configured(`  claimMappings:
    username: {expression: '"corp:" + claims.sub'}
    groups: {expression: 'claims.roles'}
    uid: {expression: 'claims.employee'}
    extra:
    - {key: example.com/team, valueExpression: 'claims.team'}
  claimValidationRules:
  - {expression: 'claims.exp - claims.iat <= 86400', message: too long a life}
  userValidationRules:
  - {expression: '!user.groups.exists(g, g == "root")', message: the group is reserved}
anonymous:
  enabled: true
  conditions:
  - {path: /livez}
`)))
	more := jwt.MapClaims{"roles": []string{"dev", "ops"}, "employee": "17", "team": "blue"}
	h.known(i.sign(more))
	h.wantUser(h.asBearer(i.sign(more)), authenticationv1.UserInfo{
		Username: "corp:jane", UID: "17", Groups: []string{"dev", "ops", "system:authenticated"},
		Extra: map[string]authenticationv1.ExtraValue{"example.com/team": {"blue"}},
	})
	for text, changes := range map[string]jwt.MapClaims{
		"the group is reserved": {"roles": []string{"root"}},
		"too long a life":       {"exp": clock.Real().Now().Add(48 * time.Hour).Unix()},
		"no such key: team":     {"team": nil},
	} {
		all := jwt.MapClaims{"roles": []string{"dev"}, "employee": "17", "team": "blue"}
		for name, value := range changes {
			all[name] = value
		}
		if got := h.review(i.sign(all)); got.Authenticated || !strings.Contains(got.Error, text) {
			t.Errorf("want %q: %+v", text, got)
		}
	}
	wantReply(t, h.raw(h.asClient(nil), "GET", "/version", ""), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
	if got := h.raw(h.asClient(nil), "GET", "/livez", ""); got.code != 200 {
		t.Errorf("/livez: %d %s", got.code, got.body)
	}
}

// TestIssuerFlags configures an issuer as the --oidc flags do.
func TestIssuerFlags(t *testing.T) {
	i := startIssuer(t)
	opts := authn.OIDC{IssuerURL: i.server.URL, ClientID: "minikcm", CAFile: fileOf(t, "ca.crt", i.ca()), GroupsClaim: "groups", GroupsPrefix: "g:", SigningAlgs: []string{"ES256"}, RequiredClaims: map[string]string{"hd": "example.com"}}
	h := start(t, allowAll, authenticating(authn.Options{OIDC: opts}))
	token := i.sign(jwt.MapClaims{"hd": "example.com"})
	h.known(token)
	h.wantUser(h.asBearer(token), authenticationv1.UserInfo{Username: i.server.URL + "#jane", Groups: []string{"g:dev", "system:authenticated"}})
	if got := h.review(i.sign(nil)); got.Authenticated || !strings.Contains(got.Error, "hd") {
		t.Errorf("without the required claim: %+v", got)
	}
}

// TestBadTokens uses tokens that must not be accepted: the answer does not say why, and a
// review, which needs a permission, does.
func TestBadTokens(t *testing.T) {
	i := startIssuer(t)
	h := start(t, allowAll, authenticating(i.configured(plainMapping)))
	h.known(i.sign(nil))
	now := clock.Real().Now()
	other := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	good := i.sign(nil)
	signed := func(method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = "k"
		return must(token.SignedString(key))(t)
	}
	account := h.tokenFor(authenticationv1.TokenRequestSpec{})
	parts := strings.Split(good, ".")
	altered := base64.RawURLEncoding.EncodeToString([]byte(asJSON(t, i.claims(jwt.MapClaims{"sub": "root"}))))
	for name, test := range map[string]struct{ token, text string }{
		"expired":                      {i.sign(jwt.MapClaims{"exp": now.Add(-time.Minute).Unix()}), "oidc: token is expired"},
		"not valid yet":                {i.sign(jwt.MapClaims{"nbf": now.Add(time.Hour).Unix()}), "before the nbf (not before) time"},
		"another audience":             {i.sign(jwt.MapClaims{"aud": "elsewhere"}), `oidc: expected audience "minikcm" got ["elsewhere"]`},
		"no audience":                  {i.sign(jwt.MapClaims{"aud": nil}), `oidc: expected audience "minikcm" got []`},
		"no name":                      {i.sign(jwt.MapClaims{"sub": nil}), `oidc: parse username claims "sub": claim not present`},
		"another issuer":               {i.sign(jwt.MapClaims{"iss": "https://issuer.example.com"}), "invalid bearer token"},
		"unsigned":                     {signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, i.claims(nil)), "oidc: id token signed with unsupported algorithm"},
		"signed with the public key":   {signed(jwt.SigningMethodHS256, must(i.key.PublicKey.Bytes())(t), i.claims(nil)), "oidc: id token signed with unsupported algorithm"},
		"another key":                  {signed(jwt.SigningMethodES256, other, i.claims(nil)), "failed to verify id token signature"},
		"altered":                      {parts[0] + "." + altered + "." + parts[2], "failed to verify id token signature"},
		"without its signature":        {parts[0] + "." + parts[1] + ".", "failed to verify id token signature"},
		"two parts":                    {parts[0] + "." + parts[1], "invalid bearer token"},
		"rubbish":                      {"rubbish", "invalid bearer token"},
		"as the cluster's issuer":      {signed(jwt.SigningMethodES256, i.key, i.claims(jwt.MapClaims{"iss": auth.DefaultIssuer, "aud": auth.DefaultIssuer, "sub": "system:serviceaccount:default:default"})), "no keys found"},
		"an account's, altered":        {account[:len(account)-6] + "AAAAAA", "invalid signature"},
		"an account's for other works": {h.tokenFor(authenticationv1.TokenRequestSpec{Audiences: []string{"elsewhere"}}), `token audiences ["elsewhere"] is invalid for the target audiences`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := h.raw(h.asBearer(test.token), "GET", "/version", "")
			status := wantReply(t, answer, 401, metav1.StatusReasonUnauthorized, "Unauthorized")
			if status.Message != "Unauthorized" || status.Details != nil {
				t.Errorf("the answer says more: %s", answer.body)
			}
			if got := h.review(test.token); got.Authenticated || !strings.Contains(got.Error, test.text) || strings.Contains(got.Error, ", oidc:") {
				t.Errorf("want %q: %+v", test.text, got)
			}
		})
	}
}

// TestIssuerAnswers has an issuer answer with too much, or with a redirect: its tokens are
// not accepted, and it gets no further requests.
func TestIssuerAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		text   string
	}{
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for chunk := make([]byte, 1<<16); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, "the answer has more than 1048576 bytes"},
		"redirected": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}, `the answer is "302 Found", and redirects are not followed: configure the issuer's final address`},
		"an error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "internals", http.StatusInternalServerError)
		}, "500 Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			i := startIssuer(t)
			i.keys = test.answer
			h := start(t, allowAll, authenticating(i.configured(plainMapping)))
			got := h.review(i.sign(nil))
			for strings.Contains(got.Error, "not initialized") && h.ctx.Err() == nil {
				got = h.review(i.sign(nil))
			}
			if got.Authenticated || !strings.Contains(got.Error, test.text) || strings.Contains(got.Error, "internals") {
				t.Errorf("want %q: %+v", test.text, got)
			}
		})
	}
}
