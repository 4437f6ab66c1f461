package controllers_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cluster-bootstrap/token/jws"

	"minikcm.dev/minikcm/controllers/internal/bootstrapsigner"
	"minikcm.dev/minikcm/controllers/internal/tokencleaner"
	"minikcm.dev/minikcm/minikcmtest"
)

// TestBootstrapSignatures signs the information about the cluster, signs it again when it changes,
// and removes the signature of a token that expires.
func TestBootstrapSignatures(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(bootstrapsigner.Name, tokencleaner.Name))
	infos := c.Client().CoreV1().ConfigMaps("kube-public")
	info, err := infos.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster-info"}, Data: map[string]string{"kubeconfig": "one"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"}, Type: "bootstrap.kubernetes.io/token", StringData: map[string]string{
		"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-signing": "true", "expiration": c.Clock().Now().Add(time.Hour).UTC().Format(time.RFC3339),
	}}
	if _, err := c.Client().CoreV1().Secrets("kube-system").Create(ctx, token, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	signature := func(after time.Duration) string {
		t.Helper()
		if err := c.Advance(ctx, after); err != nil {
			t.Fatal(err)
		}
		if info, err = infos.Get(ctx, "cluster-info", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		return info.Data["jws-kubeconfig-abcdef"]
	}
	if got := signature(time.Minute); !jws.DetachedTokenIsValid(got, "one", "abcdef", "0123456789abcdef") {
		t.Errorf("the signature is %q", got)
	}
	info.Data["kubeconfig"] = "two"
	if _, err := infos.Update(ctx, info, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := signature(time.Minute); !jws.DetachedTokenIsValid(got, "two", "abcdef", "0123456789abcdef") {
		t.Errorf("after a change, the signature is %q", got)
	}
	if got := signature(time.Hour); got != "" {
		t.Errorf("the token has expired, and the signature is still there: %q", got)
	}
}
