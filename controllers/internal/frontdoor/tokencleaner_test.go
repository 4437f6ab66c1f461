package controllers_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/tokencleaner"
	"minikcm.dev/minikcm/minikcmtest"
)

// TestTokensExpire lets time pass until one token has expired, and then a second one, whose
// expiration was postponed.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(tokencleaner.Name))
	secrets := c.Client().CoreV1().Secrets("kube-system")
	in := func(d time.Duration) []byte { return []byte(c.Clock().Now().Add(d).UTC().Format(time.RFC3339)) }
	create := func(name string, kind corev1.SecretType, data map[string][]byte) {
		t.Helper()
		if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, Data: data}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const kind = "bootstrap.kubernetes.io/token"
	token := func(id string, expiration []byte) map[string][]byte {
		return map[string][]byte{"token-id": []byte(id), "token-secret": []byte("0123456789abcdef"), "expiration": expiration}
	}
	create("bootstrap-token-aaaaaa", kind, token("aaaaaa", in(time.Hour)))
	create("bootstrap-token-bbbbbb", kind, token("bbbbbb", in(time.Hour)))
	create("bootstrap-token-cccccc", kind, map[string][]byte{"token-id": []byte("cccccc"), "token-secret": []byte("0123456789abcdef")})
	create("another", corev1.SecretTypeOpaque, token("dddddd", in(time.Hour)))
	exist := func(after time.Duration, want map[string]bool) {
		t.Helper()
		if err := c.Advance(ctx, after); err != nil {
			t.Fatal(err)
		}
		for name, want := range want {
			if _, err := secrets.Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) == want {
				t.Errorf("%s: %v, want it to exist: %v", name, err, want)
			}
		}
	}
	exist(30*time.Minute, map[string]bool{"bootstrap-token-aaaaaa": true, "bootstrap-token-bbbbbb": true})
	longer, err := secrets.Get(ctx, "bootstrap-token-bbbbbb", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	longer.Data["expiration"] = in(2 * time.Hour)
	if _, err := secrets.Update(ctx, longer, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	exist(30*time.Minute+time.Second, map[string]bool{"bootstrap-token-aaaaaa": false, "bootstrap-token-bbbbbb": true})
	exist(90*time.Minute, map[string]bool{"bootstrap-token-bbbbbb": false, "bootstrap-token-cccccc": true, "another": true})
}
