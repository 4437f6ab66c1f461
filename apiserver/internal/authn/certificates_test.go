package authn

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

// TestTrust compares what is published with and without further authorities.
func TestTrust(t *testing.T) {
	more, err := auth.NewAuthority("more", clock.Real().Now())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, more.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	pem := string(more.CertPEM())
	for name, test := range map[string]struct {
		opts Options
		want map[string]string
	}{
		"own": {Options{}, map[string]string{
			"client-ca-file": "clients\n", "requestheader-client-ca-file": "proxies\n",
			"requestheader-allowed-names": `["p"]`, "requestheader-username-headers": `["X-Remote-User"]`, "requestheader-uid-headers": `["X-Remote-Uid"]`,
			"requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		}},
		"more clients": {Options{ClientCAFile: path}, map[string]string{
			"client-ca-file": "clients\n" + pem, "requestheader-client-ca-file": "proxies\n",
			"requestheader-allowed-names": `["p"]`, "requestheader-username-headers": `["X-Remote-User"]`, "requestheader-uid-headers": `["X-Remote-Uid"]`,
			"requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		}},
		"a front proxy": {Options{RequestHeader: RequestHeader{ClientCAFile: path, AllowedNames: []string{"q"}, UsernameHeaders: []string{"X-Remote-User", "X-User"}}}, map[string]string{
			"client-ca-file": "clients\n", "requestheader-client-ca-file": "proxies\n" + pem,
			"requestheader-allowed-names": `["p","q"]`, "requestheader-username-headers": `["X-Remote-User","X-User"]`, "requestheader-uid-headers": `["X-Remote-Uid"]`,
			"requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		}},
		"any front proxy": {Options{RequestHeader: RequestHeader{ClientCAFile: path, UsernameHeaders: []string{"X-Remote-User"}}}, map[string]string{
			"client-ca-file": "clients\n", "requestheader-client-ca-file": "proxies\n" + pem,
			"requestheader-allowed-names": `[]`, "requestheader-username-headers": `["X-Remote-User"]`, "requestheader-uid-headers": `["X-Remote-Uid"]`,
			"requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		}},
	} {
		a, err := New(test.opts, Dependencies{Logger: klog.Background()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Trust([]byte("clients\n"), []byte("proxies\n"), "p")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		a.Close()
	}
}

// TestOptionsRefused builds authenticators from options that exclude each other, and from
// files that cannot be used.
func TestOptionsRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	config := func(rest string) Options { return Options{ConfigFile: file("config.yaml", rest)} }
	issuer := func(rest string) Options {
		return config(head + "jwt:\n- issuer: {url: https://issuer.example.com, audiences: [a]}\n  claimMappings: {username: {claim: sub, prefix: \"\"}}\n" + rest)
	}
	no := false
	for name, test := range map[string]struct {
		opts func() Options
		text string
	}{
		"no CA file":      {func() Options { return Options{ClientCAFile: filepath.Join(dir, "none")} }, "--client-ca-file: open "},
		"no certificates": {func() Options { return Options{ClientCAFile: file("empty", "x")} }, "empty has no certificates that can be read: data does not contain any valid RSA or ECDSA certificates"},
		"headers without a CA": {func() Options {
			return Options{RequestHeader: RequestHeader{UsernameHeaders: []string{"X-Remote-User"}}}
		}, "set --requestheader-client-ca-file"},
		"an empty header": {func() Options {
			return Options{RequestHeader: RequestHeader{ClientCAFile: "x", GroupHeaders: []string{" "}}}
		}, `empty value in "requestheader-group-headers"`},
		"an own UID header": {func() Options {
			return Options{RequestHeader: RequestHeader{ClientCAFile: "x", UIDHeaders: []string{"X-Uid"}}}
		}, "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation will not work"},
		"a bad token file":     {func() Options { return Options{TokenAuthFile: file("tokens", "a,b\n")} }, "tokens', line 1: must have at least 3 columns (token, user name, user uid), found 2"},
		"half an issuer":       {func() Options { return Options{OIDC: OIDC{IssuerURL: "https://x"}} }, "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"},
		"an issuer and file":   {func() Options { return Options{ConfigFile: "x", OIDC: OIDC{IssuerURL: "https://x"}} }, "authentication-config file and oidc-* flags are mutually exclusive"},
		"an http issuer":       {func() Options { return Options{OIDC: OIDC{IssuerURL: "http://x", ClientID: "y"}} }, `jwt[0].issuer.url: Invalid value: "http://x": URL scheme must be https`},
		"the cluster's issuer": {func() Options { return Options{OIDC: OIDC{IssuerURL: auth.DefaultIssuer, ClientID: "y"}} }, "URL must not overlap with disallowed issuers"},
		"an algorithm": {func() Options {
			return Options{OIDC: OIDC{IssuerURL: "https://x", ClientID: "y", SigningAlgs: []string{"none"}}}
		}, `oidc: unsupported signing alg: "none"`},
		"an empty file": {func() Options { return config("") }, "empty config data"},
		"another kind": {func() Options {
			return config("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n")
		}, "failed to load authentication configuration from file"},
		"an unknown field": {func() Options { return config(head + "jwts: []\n") }, `strict decoding error: unknown field "jwts"`},
		"a deep file":      {func() Options { return config(strings.Repeat("[", 200) + strings.Repeat("]", 200)) }, "nested more than 100 levels deep"},
		"no audiences": {func() Options {
			return config(head + "jwt:\n- issuer: {url: https://x}\n  claimMappings: {username: {claim: sub, prefix: \"\"}}\n")
		}, "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required"},
		"a bad expression": {func() Options { return issuer("  claimValidationRules: [{expression: 'claims.x +', message: x}]\n") }, "jwt[0].claimValidationRules[0].expression: Invalid value"},
		"an egress selector": {func() Options {
			return config(head + "jwt:\n- issuer: {url: https://x, audiences: [a], egressSelectorType: cluster}\n  claimMappings: {username: {claim: sub, prefix: \"\"}}\n")
		}, "there are no egress selectors"},
		"anonymous twice": {func() Options {
			opts := config(head + "anonymous: {enabled: true}\n")
			opts.Anonymous = &no
			return opts
		}, "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file"},
		"no webhook":          {func() Options { return Options{Webhook: Webhook{Version: "v1"}} }, "set --authentication-token-webhook-config-file"},
		"a webhook's version": {func() Options { return Options{Webhook: Webhook{ConfigFile: "x", Version: "v2"}} }, `authentication-token-webhook-version "v2" is neither v1 nor v1beta1`},
		"no webhook's file":   {func() Options { return Options{Webhook: Webhook{ConfigFile: filepath.Join(dir, "none")}} }, "--authentication-token-webhook-config-file: "},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := New(test.opts(), Dependencies{Logger: klog.Background(), Audiences: []string{auth.DefaultIssuer}})
			a.Close()
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %q", err, test.text)
			}
		})
	}
}

// FuzzTokens sends arbitrary tokens to all authenticators that need no network: none is
// accepted, and none panics.
func FuzzTokens(f *testing.F) {
	path := filepath.Join(f.TempDir(), "tokens.csv")
	if err := os.WriteFile(path, []byte("a long secret that no one finds,jane,1\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	claims, err := json.Marshal(map[string]any{"iss": "https://127.0.0.1:1", "aud": "a", "sub": "jane"})
	if err != nil {
		f.Fatal(err)
	}
	for _, token := range []string{"", "abcdef.0123456789abcdef", "a.b.c", "eyJhbGciOiJub25lIn0." + string(claims) + ".", "\x00", strings.Repeat(".", 100)} {
		f.Add(token)
	}
	a, err := New(Options{TokenAuthFile: path, BootstrapTokens: true, OIDC: OIDC{IssuerURL: "https://127.0.0.1:1", ClientID: "a"}}, Dependencies{
		Logger: klog.Background(), Clock: clock.Real(), Audiences: []string{auth.DefaultIssuer}, Secret: noSecret,
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(a.Close)
	f.Fuzz(func(t *testing.T, token string) {
		if verified, err := a.Verify(t.Context(), token, nil, noAccount); err == nil {
			t.Errorf("%q is accepted: %+v", token, verified)
		}
	})
}
