package controllers_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// ask makes a key and creates a request for a certificate of it.
func askCertificate(t *testing.T, client kubernetes.Interface, signer string, subject pkix.Name, usages ...certificatesv1.KeyUsage) (name string, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, private)
	if err != nil {
		t.Fatal(err)
	}
	seconds := int32(3600)
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer, Usages: usages, ExpirationSeconds: &seconds,
		},
	}
	made, err := client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if der, err = x509.MarshalECPrivateKey(private); err != nil {
		t.Fatal(err)
	}
	return made.Name, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func approveRequest(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	requests := client.CertificatesV1().CertificateSigningRequests()
	request, err := requests.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", Message: "by hand",
	})
	if _, err := requests.UpdateApproval(t.Context(), name, request, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// answer waits for a certificate or a failure.
func answerOf(c *minikcmtest.Cluster, name string) (got *certificatesv1.CertificateSigningRequest) {
	c.Eventually("the request to be answered", func(ctx context.Context, client kubernetes.Interface) error {
		var err error
		got, err = client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(got.Status.Certificate) == 0 && len(got.Status.Conditions) < 2 {
			return errors.New("it is not")
		}
		return err
	})
	return got
}

// allowAll lets users without roles create requests, as cluster bootstrapping roles do.
var allowAll = minikcmtest.WithOptions(func(o *minikcm.Options) { o.Security.AuthorizationModes = []string{"AlwaysAllow"} })

// TestCertificateAuthenticates obtains a certificate and makes a request with it.
func TestCertificateAuthenticates(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithHTTPS(), allowAll)
	name, key := askCertificate(t, c.Client(), certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "jane", Organization: []string{"dev"}}, "digital signature", "client auth")
	approveRequest(t, c.Client(), name)
	got := answerOf(c, name)
	block, _ := pem.Decode(got.Status.Certificate)
	if block == nil {
		t.Fatalf("the certificate is %q", got.Status.Certificate)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if lasts := certificate.NotAfter.Sub(certificate.NotBefore); lasts != time.Hour+5*time.Minute {
		t.Errorf("it lasts %v", lasts)
	}
	config, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.CertData, config.KeyData = got.Status.Certificate, key
	jane, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	self, err := jane.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || self.Status.UserInfo.Username != "jane" || self.Status.UserInfo.Groups[0] != "dev" {
		t.Errorf("it is of %v, %v", self, err)
	}
	// The server records jane as the requester of what she creates.
	name, _ = askCertificate(t, jane, "example.com/signer", pkix.Name{CommonName: "x"}, "client auth")
	if made, err := jane.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{}); err != nil || made.Spec.Username != "jane" {
		t.Errorf("it is %v, %v", made, err)
	}
}

func TestCertificateRequestFails(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t)
	name, _ := askCertificate(t, c.Client(), certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "jane"}, "server auth")
	approveRequest(t, c.Client(), name)
	conditions := answerOf(c, name).Status.Conditions
	if failed := conditions[1]; failed.Type != certificatesv1.CertificateFailed || failed.Reason != "SignerValidationFailure" || failed.Message != "invalid usage for client certificate: server auth" {
		t.Errorf("conditions %v", conditions)
	}
}

// TestNodeIsApproved creates the request of a kubelet: the controllers approve and issue
// it, and later delete it.
func TestNodeIsApproved(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), allowAll)
	client, err := kubernetes.NewForConfig(c.ConfigFor("system:node:n", "system:nodes"))
	if err != nil {
		t.Fatal(err)
	}
	name, _ := askCertificate(t, client, certificatesv1.KubeAPIServerClientKubeletSignerName, pkix.Name{CommonName: "system:node:n", Organization: []string{"system:nodes"}}, "digital signature", "client auth")
	got := answerOf(c, name)
	if approved := got.Status.Conditions[0]; approved.Type != certificatesv1.CertificateApproved || approved.Reason != "AutoApproved" ||
		approved.Message != "Auto approving self kubelet client certificate after SubjectAccessReview." || len(got.Status.Certificate) == 0 {
		t.Errorf("status %v", got.Status)
	}
	if err := c.Advance(t.Context(), time.Hour+time.Second); err != nil {
		t.Fatal(err)
	}
	list, err := c.Client().CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("an hour later: %v, %v", list.Items, err)
	}
}
