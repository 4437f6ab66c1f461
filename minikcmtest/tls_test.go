package minikcmtest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, now time.Time) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test-ca"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(10000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	if a.cert.Raw, err = x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// secret returns the data of a Secret with a certificate for a name.
func (a *authority) secret(name string, end time.Time) map[string][]byte {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: a.cert.NotBefore, NotAfter: end,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return map[string][]byte{
		"ca.crt": a.pem(), "tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}),
	}
}

// serves creates the pod and the Service of a server, and the Secret with its certificate.
func (c *traffic) serves(name, answers string, data map[string][]byte, change func(*corev1.Pod)) {
	c.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := c.Client().CoreV1().Secrets("default").Create(c.t.Context(), secret, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}, Annotations: map[string]string{"minikcm.dev/http": answers}}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/server", VolumeMounts: []corev1.VolumeMount{{Name: "certs", MountPath: "/certs"}}}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "certs", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}}
	if change != nil {
		change(pod)
	}
	if _, err := c.Client().CoreV1().Pods("default").Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(8443)}}}}
	if _, err := c.Client().CoreV1().Services("default").Create(c.t.Context(), service, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

const tlsAnswers = "8443 tls /certs/tls.crt /certs/tls.key\n8443 / 200 hello\n8080 / 200 plain\n"

// asksOver creates a pod that runs a script and has the files of the Secret safe.
func (c *traffic) asksOver(name, script string) {
	c.t.Helper()
	pod := speaking(name, script)
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "certs", MountPath: "/certs"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "certs", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "safe"}}}}
	if _, err := c.Client().CoreV1().Pods("default").Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// A server has the certificate of its container's files: programs verify it on the cluster's clock, and a new Secret is served after a
// minute. Kubelets do not verify it.
func TestServersWithTLS(t *testing.T) {
	t.Parallel()
	c := newTraffic(t)
	now := c.Clock().Now()
	ca := newAuthority(t, now)
	c.serves("safe", tlsAnswers, ca.secret("safe", now.Add(time.Hour)), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8443), Scheme: corev1.URISchemeHTTPS}}}
	})
	c.serves("wrong", tlsAnswers, ca.secret("wrong", now.Add(time.Hour)), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8443)}}}
	})
	c.pass(30 * time.Second)
	ready := func(name string) bool {
		pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady {
				return condition.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	if !ready("safe") || ready("wrong") {
		t.Errorf("probes with HTTPS and HTTP: ready are %v and %v, want only the first", ready("safe"), ready("wrong"))
	}
	c.asksOver("once", "curl -s --cacert /certs/ca.crt https://safe; curl -s https://safe; echo $?; curl -s http://safe:443; wget -qO- https://safe 2>&1; curl -s --cacert /certs/ca.crt https://safe.default; echo $?; sleep infinity")
	c.asksOver("often", "while true; do curl -s --cacert /certs/ca.crt https://safe; echo $?; sleep 4000; done")
	c.pass(30 * time.Second)
	if got, want := c.log("once"), "hello\n60\nClient sent an HTTP request to an HTTPS server.\nwget: note: TLS certificate validation not implemented\nhello\n60\n"; got != want {
		t.Errorf("once wrote %q, want %q", got, want)
	}
	c.pass(80 * time.Minute)
	if got, want := c.log("often"), "hello\n0\n60\n"; got != want {
		t.Errorf("after the certificate's end, often wrote %q, want %q", got, want)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "safe"}, Data: ca.secret("safe", now.Add(100*time.Hour))}
	if _, err := c.Client().CoreV1().Secrets("default").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.pass(60 * time.Minute)
	if got, want := c.log("often"), "hello\n0\n60\nhello\n0\n"; got != want {
		t.Errorf("after the Secret's renewal, often wrote %q, want %q", got, want)
	}
}
