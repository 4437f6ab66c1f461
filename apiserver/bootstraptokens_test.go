package apiserver_test

import (
	"maps"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/authn"
)

// bootstrapToken returns the secret of the token abcdef.0123456789abcdef, with changes:
// alternating keys and values, of which an empty one removes the key.
func bootstrapToken(changes ...string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef", Namespace: "kube-system"}, Type: "bootstrap.kubernetes.io/token",
		Data: map[string][]byte{"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-authentication": []byte("true")},
	}
	for i := 0; i < len(changes); i += 2 {
		s.Data[changes[i]] = []byte(changes[i+1])
	}
	maps.DeleteFunc(s.Data, func(_ string, value []byte) bool { return len(value) == 0 })
	return s
}

// TestBootstrapTokens uses a bootstrap token until it expires, in cluster time.
func TestBootstrapTokens(t *testing.T) {
	h, virtual := startVirtual(t, allowAll, authenticating(authn.Options{BootstrapTokens: true}))
	secrets := h.client().CoreV1().Secrets("kube-system")
	expires := virtual.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	must(secrets.Create(h.ctx, bootstrapToken("expiration", expires, "auth-extra-groups", "system:bootstrappers:workers"), metav1.CreateOptions{}))(t)
	cfg := h.asBearer("abcdef.0123456789abcdef")
	h.wantUser(cfg, authenticationv1.UserInfo{Username: "system:bootstrap:abcdef", Groups: []string{"system:bootstrappers", "system:bootstrappers:workers", "system:authenticated"}})
	if got := h.review("abcdef.0123456789abcdef"); !got.Authenticated {
		t.Errorf("%+v", got)
	}
	h.advance(virtual, time.Hour+time.Second)
	wantReply(t, h.raw(cfg, "GET", "/api/v1/pods", ""), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
	if got := h.review("abcdef.0123456789abcdef"); got.Authenticated || got.Error != "invalid bearer token" {
		t.Errorf("after its end: %+v", got)
	}
}

// TestBootstrapTokensRefused uses tokens that are not valid.
func TestBootstrapTokensRefused(t *testing.T) {
	opaque := bootstrapToken()
	opaque.Type = corev1.SecretTypeOpaque
	deleted := bootstrapToken()
	deleted.Finalizers = []string{"example.com/wait"}
	for name, test := range map[string]struct {
		secret *corev1.Secret
		token  string
	}{
		"no secret":        {nil, "abcdef.0123456789abcdef"},
		"another secret":   {bootstrapToken(), "abcdef.0123456789abcdee"},
		"another ID":       {bootstrapToken("token-id", "abcdee"), "abcdef.0123456789abcdef"},
		"another type":     {opaque, "abcdef.0123456789abcdef"},
		"being deleted":    {deleted, "abcdef.0123456789abcdef"},
		"for signing only": {bootstrapToken("usage-bootstrap-authentication", "", "usage-bootstrap-signing", "true"), "abcdef.0123456789abcdef"},
		"not true":         {bootstrapToken("usage-bootstrap-authentication", "True"), "abcdef.0123456789abcdef"},
		"expired":          {bootstrapToken("expiration", "2020-01-01T00:00:00Z"), "abcdef.0123456789abcdef"},
		"unreadable time":  {bootstrapToken("expiration", "tomorrow"), "abcdef.0123456789abcdef"},
		"a foreign group":  {bootstrapToken("auth-extra-groups", "system:masters"), "abcdef.0123456789abcdef"},
		"no secret in it":  {bootstrapToken("token-secret", ""), "abcdef."},
		"upper case":       {bootstrapToken(), "ABCDEF.0123456789abcdef"},
		"longer":           {bootstrapToken(), "abcdef.0123456789abcdefg"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, allowAll, authenticating(authn.Options{BootstrapTokens: true}))
			secrets := h.client().CoreV1().Secrets("kube-system")
			if test.secret != nil {
				must(secrets.Create(h.ctx, test.secret, metav1.CreateOptions{}))(t)
			}
			if name == "being deleted" {
				if err := secrets.Delete(h.ctx, test.secret.Name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			wantReply(t, h.raw(h.asBearer(test.token), "GET", "/version", ""), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
		})
	}
	h := start(t, func(o *apiserver.Options) {})
	must(h.client().CoreV1().Secrets("kube-system").Create(h.ctx, bootstrapToken(), metav1.CreateOptions{}))(t)
	wantReply(t, h.raw(h.asBearer("abcdef.0123456789abcdef"), "GET", "/version", ""), 401, metav1.StatusReasonUnauthorized, "Unauthorized")
}
