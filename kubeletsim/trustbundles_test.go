package kubeletsim_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// bundle creates a ClusterTrustBundle with n certificates.
func (c *streamCluster) bundle(name, signer string, labels map[string]string, certificates ...string) {
	c.t.Helper()
	bundle := &certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: strings.Join(certificates, "")},
	}
	if _, err := c.client.CertificatesV1().ClusterTrustBundles().Create(c.t.Context(), bundle, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func trusting(sources ...corev1.ClusterTrustBundleProjection) func(*corev1.Pod) {
	var projections []corev1.VolumeProjection
	for i := range sources {
		sources[i].Path = fmt.Sprintf("anchors-%d.pem", i)
		projections = append(projections, corev1.VolumeProjection{ClusterTrustBundle: &sources[i]})
	}
	return mounting(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: projections}})
}

// TestTrustBundleVolumes checks the files of ClusterTrustBundle projections (KEP-3257).
func TestTrustBundleVolumes(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	certificates := c.certificates(3)
	a, b, d := certificates[0], certificates[1], certificates[2]
	c.bundle("plain", "", nil, a, b, a)
	c.bundle("x.test:s:one", "x.test/s", map[string]string{"live": "yes"}, b)
	c.bundle("x.test:s:two", "x.test/s", nil, "# the same, and another\n", b, d)
	signer := ptr.To("x.test/s")
	c.run(podNamed("p", trusting(
		corev1.ClusterTrustBundleProjection{Name: ptr.To("plain")},
		corev1.ClusterTrustBundleProjection{SignerName: signer, LabelSelector: &metav1.LabelSelector{}},
		corev1.ClusterTrustBundleProjection{SignerName: signer, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"live": "yes"}}},
		corev1.ClusterTrustBundleProjection{SignerName: signer, Optional: ptr.To(true)},
		corev1.ClusterTrustBundleProjection{Name: ptr.To("none"), Optional: ptr.To(true)},
	)))
	for i, want := range []string{a + b, b + d, b, "", ""} {
		if got := c.exec(dialers()[0], "p", "", nil, "cat", fmt.Sprintf("/data/anchors-%d.pem", i)); got.out != want || got.failure != nil {
			t.Errorf("file %d is %q (%s, %v), want %q", i, got.out, got.err, got.failure, want)
		}
	}
}

// TestWaitsForTrustBundles checks that a pod waits for the bundles that its volumes require.
func TestWaitsForTrustBundles(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	certificate := c.certificates(1)[0]
	for name, source := range map[string]corev1.ClusterTrustBundleProjection{
		"by-name":   {Name: ptr.To("anchors")},
		"by-signer": {SignerName: ptr.To("x.test/s"), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"live": "yes"}}},
	} {
		if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), podNamed(name, trusting(source)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const failed = `Warning FailedMount MountVolume.SetUp failed for volume "data" : `
	c.EventuallyEvent("default", "Pod", failed+`while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "anchors" not found`)
	c.EventuallyEvent("default", "Pod", failed+"combination of signerName and labelSelector matched zero ClusterTrustBundles")
	c.bundle("anchors", "", nil, certificate)
	c.bundle("x.test:s:b", "x.test/s", nil, certificate)
	c.running("by-name")
	if pod, err := c.client.CoreV1().Pods("default").Get(t.Context(), "by-signer", metav1.GetOptions{}); err != nil || pod.Status.Phase != corev1.PodPending {
		t.Fatalf("a pod whose selector matches nothing: %v, %v", pod.Status.Phase, err)
	}
	label := []byte(`{"metadata":{"labels":{"live":"yes"}}}`)
	if _, err := c.client.CertificatesV1().ClusterTrustBundles().Patch(t.Context(), "x.test:s:b", "application/merge-patch+json", label, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.running("by-signer")
}

// certificates returns the PEM blocks of n distinct certificates.
func (c *streamCluster) certificates(n int) []string {
	c.t.Helper()
	var out []string
	for i := range n {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			c.t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), IsCA: true, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
	return out
}

func (c *streamCluster) running(pod string) {
	c.t.Helper()
	c.Eventually("the pod to run", func(ctx context.Context, client kubernetes.Interface) error {
		got, err := client.CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		if err == nil && got.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", got.Status.Phase)
		}
		return err
	})
}
