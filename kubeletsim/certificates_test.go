package kubeletsim_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

const podSigner = "x.test/pods"

// signer signs the requests of pods.
type signer struct {
	t      *testing.T
	client kubernetes.Interface
	now    func() time.Time
	key    *ecdsa.PrivateKey
}

func newSigner(t *testing.T, client kubernetes.Interface, now func() time.Time) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{t: t, client: client, now: now, key: key}
}

// open returns the requests without a result.
func (s *signer) open() []certificatesv1.PodCertificateRequest {
	s.t.Helper()
	list, err := s.client.CertificatesV1().PodCertificateRequests("default").List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	var open []certificatesv1.PodCertificateRequest
	for _, r := range list.Items {
		if len(r.Status.Conditions) == 0 {
			open = append(open, r)
		}
	}
	return open
}

// issue issues a certificate for two hours that is refreshed after 90 minutes, and returns its chain.
func (s *signer) issue(r *certificatesv1.PodCertificateRequest) string {
	s.t.Helper()
	request, err := x509.ParseCertificateRequest(r.Spec.StubPKCS10Request)
	if err != nil {
		s.t.Fatal(err)
	}
	from := s.now().UTC().Truncate(time.Second)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(2 * time.Hour), DNSNames: []string{r.Spec.PodName},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, request.PublicKey, s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: from.Add(d)} }
	r.Status = certificatesv1.PodCertificateRequestStatus{
		Conditions:       []metav1.Condition{s.condition(certificatesv1.PodCertificateRequestConditionTypeIssued)},
		CertificateChain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		NotBefore:        at(0), BeginRefreshAt: at(90 * time.Minute), NotAfter: at(2 * time.Hour),
	}
	s.update(r)
	return r.Status.CertificateChain
}

func (s *signer) condition(of string) metav1.Condition {
	return metav1.Condition{Type: of, Status: metav1.ConditionTrue, Reason: "Decided", Message: "by the test", LastTransitionTime: metav1.Time{Time: s.now()}}
}

func (s *signer) update(r *certificatesv1.PodCertificateRequest) {
	s.t.Helper()
	if _, err := s.client.CertificatesV1().PodCertificateRequests("default").UpdateStatus(s.t.Context(), r, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func certified(keyType string, paths corev1.PodCertificateProjection) func(*corev1.Pod) {
	paths.SignerName, paths.KeyType = podSigner, keyType
	return mounting(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{PodCertificate: &paths}}}})
}

// TestPodCertificate follows a pod's certificate (KEP-4317) from its request over its refresh to
// its expiration.
func TestPodCertificate(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(1))
	s := newSigner(t, c.Client(), c.Clock().Now)
	pods := c.Client().CoreV1().Pods("default")
	pod := podNamed("p", certified("ECDSAP256", corev1.PodCertificateProjection{CredentialBundlePath: "bundle.pem", CertificateChainPath: "chain.pem"}), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Command = []string{"sh", "-c", "cat /data/bundle.pem /data/chain.pem; sleep 1000000"}
	})
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, c, time.Second)
	if phase := podIn(t, c, "p").Status.Phase; phase != corev1.PodPending {
		t.Fatalf("without a certificate the pod is %s", phase)
	}
	c.EventuallyEvent("default", "Pod", `Warning FailedMount MountVolume.SetUp failed for volume "data" : credential bundle is not issued yet`)
	open := s.open()
	if len(open) != 1 || open[0].Spec.PodName != "p" || open[0].Spec.NodeName == "" || open[0].Spec.ServiceAccountName != "default" || open[0].OwnerReferences[0].Name != "p" {
		t.Fatalf("the requests are %+v", open)
	}
	chain := s.issue(&open[0])
	advance(t, c, time.Second)
	if phase := podIn(t, c, "p").Status.Phase; phase != corev1.PodRunning {
		t.Fatalf("with a certificate the pod is %s", phase)
	}
	log := logOf(t, c.Client(), "p")
	if !strings.HasPrefix(log, "-----BEGIN PRIVATE KEY-----") || strings.Count(log, chain) != 2 {
		t.Errorf("the files are %q, want the chain twice: %q", log, chain)
	}

	advance(t, c, 80*time.Minute)
	if open := s.open(); len(open) != 0 {
		t.Fatalf("it is refreshed too early: %+v", open)
	}
	advance(t, c, 16*time.Minute)
	open = s.open()
	if len(open) != 1 {
		t.Fatalf("for the refresh there are %d requests", len(open))
	}
	advance(t, c, 10*time.Minute)
	c.EventuallyEvent("default", "Pod", "Warning CertificateOverdueForRefresh PodCertificate refresh overdue")
	s.issue(&open[0])
	advance(t, c, 80*time.Minute)
	if open := s.open(); len(open) != 0 {
		t.Fatalf("after the refresh there are more requests: %+v", open)
	}
	advance(t, c, 45*time.Minute)
	c.EventuallyEvent("default", "Pod", "Warning CertificateExpired PodCertificate expired")
}

func logOf(t *testing.T, client kubernetes.Interface, pod string) string {
	t.Helper()
	stream, err := client.CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPodCertificateKeys checks each type of key, and what a denied request does.
func TestPodCertificateKeys(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	s := newSigner(t, c.client, c.Clock().Now)
	for _, keyType := range []string{"RSA3072", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"} {
		pod := podNamed(strings.ToLower(keyType), certified(keyType, corev1.PodCertificateProjection{KeyPath: "key.pem", CertificateChainPath: "chain.pem"}))
		if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		request := s.next(c)
		chain := s.issue(&request)
		c.running(pod.Name)
		if got := c.exec(dialers()[0], pod.Name, "", nil, "cat", "/data/chain.pem"); got.out != chain || got.failure != nil {
			t.Errorf("%s: the chain is %q (%v), want %q", keyType, got.out, got.failure, chain)
		}
		if got := c.exec(dialers()[0], pod.Name, "", nil, "cat", "/data/key.pem"); !strings.HasPrefix(got.out, "-----BEGIN PRIVATE KEY-----\n") || got.failure != nil {
			t.Errorf("%s: the key is %q (%v)", keyType, got.out, got.failure)
		}
	}
	refused := podNamed("refused", certified("ED25519", corev1.PodCertificateProjection{CredentialBundlePath: "x.pem"}))
	if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), refused, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request := s.next(c)
	request.Status.Conditions = []metav1.Condition{s.condition(certificatesv1.PodCertificateRequestConditionTypeDenied)}
	s.update(&request)
	c.EventuallyEvent("default", "Pod", fmt.Sprintf(`Warning Denied PodCertificateRequest default/%s was denied, reason="Decided", message="by the test"`, request.Name))
	c.EventuallyEvent("default", "Pod",
		`Warning FailedMount MountVolume.SetUp failed for volume "data" : PodCertificateRequest was permanently denied: reason="Decided" message="by the test"`)
}

// next waits for an open request.
func (s *signer) next(c *streamCluster) (request certificatesv1.PodCertificateRequest) {
	s.t.Helper()
	c.Eventually("a request", func(context.Context, kubernetes.Interface) error {
		open := s.open()
		if len(open) != 1 {
			return fmt.Errorf("there are %d", len(open))
		}
		request = open[0]
		return nil
	})
	return request
}
