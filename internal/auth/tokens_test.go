package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/clock"
)

// noon is when the tests issue their tokens.
var noon = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

// world has the objects that tokens are bound to; nil does not exist.
type world struct {
	account *corev1.ServiceAccount
	pod     *corev1.Pod
	secret  *corev1.Secret
	node    *corev1.Node
}

var errGone = errors.New("it is not there")

func found[T any](obj *T) (*T, error) {
	if obj == nil {
		return nil, errGone
	}
	return obj, nil
}

func (w *world) ServiceAccount(context.Context, string, string) (*corev1.ServiceAccount, error) {
	return found(w.account)
}

func (w *world) Pod(context.Context, string, string) (*corev1.Pod, error) { return found(w.pod) }

func (w *world) Secret(context.Context, string, string) (*corev1.Secret, error) {
	return found(w.secret)
}

func (w *world) Node(context.Context, string) (*corev1.Node, error) { return found(w.node) }

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid")}
}

func newWorld() *world {
	return &world{
		account: &corev1.ServiceAccount{ObjectMeta: named("sa")}, pod: &corev1.Pod{ObjectMeta: named("pod")},
		secret: &corev1.Secret{ObjectMeta: named("secret")}, node: &corev1.Node{ObjectMeta: named("node")},
	}
}

func newTokens(t testing.TB, w *world) (*Tokens, *clock.Virtual) {
	t.Helper()
	key, err := NewTokenKey()
	if err != nil {
		t.Fatal(err)
	}
	virtual := clock.NewVirtual(noon, clock.NewLedger())
	t.Cleanup(virtual.Close)
	return &Tokens{Key: key, Objects: w, Clock: virtual, NewID: func(*corev1.ServiceAccount) string { return "id" }}, virtual
}

func issue(t testing.TB, tokens *Tokens, b *Binding) string {
	t.Helper()
	token, err := tokens.Issue(b, tokens.Audiences(), time.Hour, 0)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestBoundToken(t *testing.T) {
	extra := func(pairs ...string) map[string][]string {
		m := map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=id"}}
		for i := 0; i < len(pairs); i += 2 {
			m["authentication.kubernetes.io/"+pairs[i]] = []string{pairs[i+1]}
		}
		return m
	}
	for name, test := range map[string]struct {
		bind func(w *world) *Binding
		want map[string][]string
		// gone deletes an object that the token is bound to, and why is the expected
		// error.
		gone func(w *world)
		why  string
	}{
		"account": {
			func(w *world) *Binding { return &Binding{Account: w.account} }, extra(),
			func(w *world) { w.account = nil }, errGone.Error(),
		},
		"another account": {
			func(w *world) *Binding { return &Binding{Account: w.account} }, extra(),
			func(w *world) { w.account.UID = "other" }, "service account UID (other) does not match claim (sa-uid)",
		},
		"deleted account": {
			func(w *world) *Binding { return &Binding{Account: w.account} }, extra(),
			func(w *world) { w.account.DeletionTimestamp = &metav1.Time{Time: noon.Add(-time.Hour)} }, "service account ns/sa has been deleted",
		},
		"pod": {
			func(w *world) *Binding { return &Binding{Account: w.account, Pod: w.pod} }, extra("pod-name", "pod", "pod-uid", "pod-uid"),
			func(w *world) { w.pod = nil }, "service account token has been invalidated",
		},
		"another pod, on a node": {
			func(w *world) *Binding { return &Binding{Account: w.account, Pod: w.pod, Node: w.node} },
			extra("pod-name", "pod", "pod-uid", "pod-uid", "node-name", "node", "node-uid", "node-uid"),
			func(w *world) { w.pod.UID = "other" }, "pod UID (other) does not match service account pod ref claim (pod-uid)",
		},
		"pod whose end is overdue": {
			func(w *world) *Binding { return &Binding{Account: w.account, Pod: w.pod} }, extra("pod-name", "pod", "pod-uid", "pod-uid"),
			func(w *world) { w.pod.DeletionTimestamp = &metav1.Time{Time: noon.Add(-time.Hour)} }, "service account token has been invalidated",
		},
		"secret": {
			func(w *world) *Binding { return &Binding{Account: w.account, Secret: w.secret} }, extra(),
			func(w *world) { w.secret = nil }, "service account token has been invalidated",
		},
		"node": {
			func(w *world) *Binding { return &Binding{Account: w.account, Node: w.node} }, extra("node-name", "node", "node-uid", "node-uid"),
			func(w *world) { w.node.UID = "other" }, "node UID (other) does not match service account node ref claim (node-uid)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tokens, _ := newTokens(t, w)
			token := issue(t, tokens, test.bind(w))
			got, err := tokens.Verify(t.Context(), token, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := &Verified{
				User: &User{
					Name: "system:serviceaccount:ns:sa", UID: "sa-uid",
					Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"}, Extra: test.want,
				},
				Audiences: []string{DefaultIssuer},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			test.gone(w)
			if got, err := tokens.Verify(t.Context(), token, nil); err == nil || err.Error() != test.why {
				t.Errorf("then: %v, %v", got, err)
			}
		})
	}
}

func TestTokenTimes(t *testing.T) {
	w := newWorld()
	tokens, virtual := newTokens(t, w)
	token := issue(t, tokens, &Binding{Account: w.account})
	if err := virtual.Advance(t.Context(), time.Hour+leeway); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Verify(t.Context(), token, nil); err != nil {
		t.Errorf("within the leeway: %v", err)
	}
	if err := virtual.Advance(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Verify(t.Context(), token, nil); err == nil || err.Error() != "service account token has expired" {
		t.Errorf("after it: %v", err)
	}
	late := issue(t, tokens, &Binding{Account: w.account})
	earlier, _ := newTokens(t, w)
	earlier.Key = tokens.Key
	if _, err := earlier.Verify(t.Context(), late, nil); err == nil || err.Error() != "service account token is not valid yet" {
		t.Errorf("before it was issued: %v", err)
	}
}

func TestAudiences(t *testing.T) {
	w := newWorld()
	tokens, _ := newTokens(t, w)
	token, err := tokens.Issue(&Binding{Account: w.account}, []string{"a", "b"}, time.Hour, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Verify(t.Context(), token, nil); err == nil || !strings.Contains(err.Error(), `token audiences ["a" "b"] is invalid for the target audiences`) {
		t.Errorf("for the apiserver: %v", err)
	}
	got, err := tokens.Verify(t.Context(), token, []string{"c", "b"})
	if err != nil || !cmp.Equal(got.Audiences, []string{"b"}) {
		t.Errorf("for b and c: %v, %v", got, err)
	}
}

func TestForeignTokens(t *testing.T) {
	w := newWorld()
	tokens, _ := newTokens(t, w)
	others, _ := newTokens(t, w)
	good := issue(t, tokens, &Binding{Account: w.account})
	parts := strings.Split(good, ".")
	encode := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	symmetric, err := jwt.NewWithClaims(jwt.SigningMethodHS256, &Claims{RegisteredClaims: jwt.RegisteredClaims{Issuer: DefaultIssuer}}).SignedString([]byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ token, why string }{
		"nothing":              {"", "invalid bearer token"},
		"no token":             {"abc", "invalid bearer token"},
		"JSON":                 {`{"a.b.c"}`, "invalid bearer token"},
		"of another cluster":   {issue(t, others, &Binding{Account: w.account}), "invalid signature, "},
		"another's claims":     {parts[0] + "." + encode(map[string]any{"iss": DefaultIssuer, "sub": "system:serviceaccount:ns:root"}) + "." + parts[2], "invalid signature, "},
		"unsigned":             {encode(map[string]any{"alg": "none"}) + "." + parts[1] + ".", "invalid "},
		"with a shared secret": {symmetric, "invalid signature, "},
		"of another issuer":    {parts[0] + "." + encode(map[string]any{"iss": "https://example.com"}) + "." + parts[2], "invalid bearer token"},
		"cut off":              {good[:len(good)-2], "invalid signature, "},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := tokens.Verify(t.Context(), test.token, nil); err == nil || !strings.HasPrefix(err.Error(), test.why) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestLegacyToken(t *testing.T) {
	w := newWorld()
	tokens, _ := newTokens(t, w)
	token, err := tokens.Key.IssueLegacy(w.account, "secret")
	if err != nil {
		t.Fatal(err)
	}
	w.secret.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte(token)}
	got, err := tokens.Verify(t.Context(), token, nil)
	want := &Verified{Audiences: []string{DefaultIssuer}, Secret: w.secret, User: &User{
		Name: "system:serviceaccount:ns:sa", UID: "sa-uid", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"},
	}}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	w.account.Secrets = []corev1.ObjectReference{{Name: "secret"}}
	if got, err := tokens.Verify(t.Context(), token, nil); err != nil || got.Warning == "" {
		t.Errorf("generated: %v, %v", got, err)
	}
	for _, step := range []struct {
		change func()
		why    string
	}{
		{func() { w.secret.Labels = map[string]string{InvalidSinceLabel: "2026-01-01"} }, "has been marked invalid"},
		{func() { w.account.UID = "other" }, "ServiceAccount UID (other) does not match claim (sa-uid)"},
		{func() { w.secret.Data = nil }, "Token does not match server's copy"},
		{func() { w.secret = nil }, "Token has been invalidated"},
	} {
		step.change()
		if got, err := tokens.Verify(t.Context(), token, nil); err == nil || !strings.Contains(err.Error(), step.why) {
			t.Errorf("want %q, got %v, %v", step.why, got, err)
		}
	}
}

// TestTokenKey saves and loads a key; tokens signed before stay valid.
func TestTokenKey(t *testing.T) {
	w := newWorld()
	tokens, _ := newTokens(t, w)
	token := issue(t, tokens, &Binding{Account: w.account})
	kept, err := tokens.Key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	if tokens.Key, err = LoadTokenKey(kept); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Verify(t.Context(), token, nil); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "x", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"} {
		if _, err := LoadTokenKey([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a key", bad)
		}
	}
}

// TestKindsOfKeys signs with each supported kind of key, and publishes it.
func TestKindsOfKeys(t *testing.T) {
	w := newWorld()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for want, curve := range map[string]elliptic.Curve{"RS256": nil, "ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521(), "": elliptic.P224()} {
		t.Run(want, func(t *testing.T) {
			var key crypto.Signer = rsaKey
			if curve != nil {
				if key, err = ecdsa.GenerateKey(curve, rand.Reader); err != nil {
					t.Fatal(err)
				}
			}
			made, err := newTokenKey(key)
			if want == "" {
				if err == nil {
					t.Error("P-224 was accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tokens, _ := newTokens(t, w)
			tokens.Key = made
			token := issue(t, tokens, &Binding{Account: w.account})
			if _, err := tokens.Verify(t.Context(), token, nil); err != nil {
				t.Error(err)
			}
			set, err := tokens.KeySet()
			if err != nil || !strings.Contains(string(set), `"alg":"`+want+`"`) || strings.Contains(string(set), `"n":`) != (curve == nil) {
				t.Errorf("published as %s, %v", set, err)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	w := newWorld()
	tokens, _ := newTokens(f, w)
	good := issue(f, tokens, &Binding{Account: w.account})
	f.Add(good)
	f.Add("a.b.c")
	f.Add(strings.Replace(good, ".", "..", 1))
	f.Fuzz(func(t *testing.T, token string) {
		if verified, err := tokens.Verify(t.Context(), token, nil); err == nil && token != good {
			t.Errorf("%q was accepted as %v", token, verified.User)
		}
	})
}
