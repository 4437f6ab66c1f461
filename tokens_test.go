package minikcm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm"
)

// TestTokensOutliveARestart shows a token to the cluster that takes over its data
// directory, and to one that does not.
func TestTokensOutliveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := minikcm.Options{Storage: minikcm.StorageOptions{DataDir: dir}, API: minikcm.APIOptions{NoHTTPS: true}, Nodes: minikcm.NodeOptions{Count: -1}}
	c, err := minikcm.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Client().CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	review := func(options minikcm.Options) authenticationv1.TokenReviewStatus {
		t.Helper()
		c, err := minikcm.Start(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		got, err := c.Client().AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: made.Status.Token},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Status
	}
	if got := review(options); !got.Authenticated || got.User.Username != "system:serviceaccount:default:default" {
		t.Errorf("after the restart: %v", got)
	}
	if got := review(minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true}, Nodes: minikcm.NodeOptions{Count: -1}}); got.Authenticated || !strings.HasPrefix(got.Error, "invalid signature") {
		t.Errorf("elsewhere: %v", got)
	}
	key := filepath.Join(dir, "pki", "sa.key")
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	if err := os.WriteFile(key, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := minikcm.Start(t.Context(), options); err == nil || !strings.Contains(err.Error(), key+" cannot be used") {
		t.Errorf("with a broken key: %v", err)
	}
}
