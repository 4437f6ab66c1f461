package controllers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/podcertificaterequestcleaner"
	"minikcm.dev/minikcm/minikcmtest"
)

func podCertificateRequest(t *testing.T, name string) *certificatesv1.PodCertificateRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: "example.com/s", PodName: "p", PodUID: "u", ServiceAccountName: "default", ServiceAccountUID: "v",
			NodeName: "node-0", NodeUID: "w", StubPKCS10Request: stub,
		},
	}
}

// TestPodCertificateRequestsAreDeleted makes two requests ten minutes apart, and the first one again after
// it was deleted by hand: each is kept for 15 minutes after its own creation.
func TestPodCertificateRequestsAreDeleted(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithVirtualTime(), minikcmtest.WithControllers(podcertificaterequestcleaner.Name))
	requests := c.Client().CertificatesV1().PodCertificateRequests("default")
	create := func(name string) {
		t.Helper()
		if _, err := requests.Create(ctx, podCertificateRequest(t, name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	exist := func(after time.Duration, want map[string]bool) {
		t.Helper()
		if err := c.Advance(ctx, after); err != nil {
			t.Fatal(err)
		}
		for name, want := range want {
			if _, err := requests.Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) == want {
				t.Errorf("%s: %v, want it to exist: %v", name, err, want)
			}
		}
	}
	create("a")
	create("again")
	exist(10*time.Minute, map[string]bool{"a": true, "again": true})
	create("b")
	if err := requests.Delete(ctx, "again", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	create("again")
	exist(5*time.Minute-time.Second, map[string]bool{"a": true, "b": true, "again": true})
	exist(time.Second, map[string]bool{"a": false, "b": true, "again": true})
	exist(10*time.Minute-time.Second, map[string]bool{"b": true, "again": true})
	exist(time.Second, map[string]bool{"b": false, "again": false})
}
