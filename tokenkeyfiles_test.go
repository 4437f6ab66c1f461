package minikcm_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"

	"minikcm.dev/minikcm"
)

// TestTokenKeyFiles checks that the data directory has the key of tokens in files that
// kube-apiserver reads, that a key in the format of earlier releases is kept and written in
// the new one, and that earlier tokens stay valid.
func TestTokenKeyFiles(t *testing.T) {
	dir := t.TempDir()
	private, public := filepath.Join(dir, "pki", "sa.key"), filepath.Join(dir, "pki", "sa.pub")
	ctx := t.Context()
	restart := func() *minikcm.Cluster {
		t.Helper()
		c, err := minikcm.Start(ctx, minikcm.Options{Storage: minikcm.StorageOptions{DataDir: dir}, Nodes: minikcm.NodeOptions{Count: -1}, API: minikcm.APIOptions{NoHTTPS: true}, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	read := func(path string) []byte {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keyutil.ParsePublicKeysPEM(data); err != nil {
			t.Errorf("--service-account-key-file %s: %v", path, err)
		}
		return data
	}
	c := restart()
	key, pub := read(private), read(public)
	parsed, err := keyutil.ParsePrivateKeyPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := c.Client().CoreV1().ServiceAccounts("default").CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	der, err := x509.MarshalPKCS8PrivateKey(parsed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(public); err != nil {
		t.Fatal(err)
	}
	c = restart()
	if again, pubAgain := read(private), read(public); !bytes.Equal(again, key) || !bytes.Equal(pubAgain, pub) {
		t.Errorf("the key has changed:\n%s%s", again, pubAgain)
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: asked.Status.Token}}
	if review, err = c.Client().AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{}); err != nil || !review.Status.Authenticated {
		t.Errorf("the token of the first start: %+v, %v", review.Status, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWithoutScheduler checks that a pod stays unassigned, so that another scheduler may bind
// it.
func TestWithoutScheduler(t *testing.T) {
	c := start(t, minikcm.Options{Controllers: minikcm.ControllerOptions{NoScheduler: true}, API: minikcm.APIOptions{NoHTTPS: true}, Seed: 1, Security: minikcm.SecurityOptions{DisableAdmissionPlugins: []string{"ServiceAccount"}}})
	ctx := t.Context()
	pods := c.Client().CoreV1().Pods("default")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}}
	pod, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Spec.ServiceAccountName != "" || len(pod.Spec.Volumes) > 0 {
		t.Errorf("without the plugin ServiceAccount: %+v", pod.Spec)
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-0"}}
	if err := pods.Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Errorf("binding as another scheduler: %v", err)
	}
}
