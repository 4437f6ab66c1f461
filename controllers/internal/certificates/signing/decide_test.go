package signing

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

var (
	noon = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)
	// ends is the expiry of the authority's certificate.
	ends = noon.Add(10 * 365 * 24 * time.Hour)
)

func request(signer string, conditions ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
	r := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: signer, Usages: []certificatesv1.KeyUsage{"client auth"},
	}}
	for _, of := range conditions {
		r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: of, Status: corev1.ConditionTrue})
	}
	return r
}

func TestDecide(t *testing.T) {
	issued := request("kubernetes.io/kube-apiserver-client", "Approved")
	issued.Status.Certificate = []byte("x")
	serves := request("kubernetes.io/kube-apiserver-client", "Approved")
	serves.Spec.Usages = []certificatesv1.KeyUsage{"client auth", "server auth"}
	nothing := request("kubernetes.io/kube-apiserver-client", "Approved")
	nothing.Spec.Usages = []certificatesv1.KeyUsage{"digital signature"}
	for name, test := range map[string]struct {
		request *certificatesv1.CertificateSigningRequest
		want    Action
		why     string
	}{
		"pending":         {request("kubernetes.io/kube-apiserver-client"), Nothing, ""},
		"denied":          {request("kubernetes.io/kube-apiserver-client", "Denied"), Nothing, ""},
		"approved":        {request("kubernetes.io/kube-apiserver-client", "Approved"), Sign, ""},
		"failed":          {request("kubernetes.io/kube-apiserver-client", "Approved", "Failed"), Nothing, ""},
		"issued":          {issued, Nothing, ""},
		"another signer":  {request("example.com/signer", "Approved"), Nothing, ""},
		"legacy":          {request("kubernetes.io/legacy-unknown", "Approved"), Sign, ""},
		"no kubelet":      {request("kubernetes.io/kubelet-serving", "Approved"), Fail, "subject organization is not system:nodes"},
		"nor its client":  {request("kubernetes.io/kube-apiserver-client-kubelet", "Approved"), Fail, "subject organization is not system:nodes"},
		"serving usage":   {serves, Fail, "invalid usage for client certificate: server auth"},
		"no client usage": {nothing, Fail, "missing required usage for client certificate: client auth"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decide(test.request, func() (*x509.CertificateRequest, error) { return &x509.CertificateRequest{}, nil })
			if got != test.want || (err == nil) != (test.why == "") || (err != nil && err.Error() != test.why) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	broken := errors.New("broken")
	if got, err := Decide(request("kubernetes.io/kube-apiserver-client", "Approved"), func() (*x509.CertificateRequest, error) { return nil, broken }); got != Nothing || !errors.Is(err, broken) {
		t.Errorf("what cannot be read: %v, %v", got, err)
	}
}

func TestLifetime(t *testing.T) {
	for _, test := range []struct {
		asked int32
		want  time.Duration
	}{{1, 10 * time.Minute}, {3600, time.Hour}, {1 << 30, DefaultLifetime}} {
		if got := Lifetime(&test.asked, DefaultLifetime); got != test.want {
			t.Errorf("%d s: %v", test.asked, got)
		}
	}
	if got := Lifetime(nil, time.Hour); got != time.Hour {
		t.Errorf("unasked: %v", got)
	}
}

func TestTemplate(t *testing.T) {
	parsed := &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "jane", Organization: []string{"dev"}}, DNSNames: []string{"a"},
		Extensions: []pkix.Extension{{Id: []int{2, 5, 29, 19}, Value: []byte{1}}},
	}
	usages := []certificatesv1.KeyUsage{"client auth", "signing", "key encipherment", "server auth", "client auth"}
	for name, test := range map[string]struct {
		lifetime       time.Duration
		ends           time.Time
		notBefore, end time.Time
	}{
		"short":       {time.Hour, ends, noon.Add(-5 * time.Minute), noon.Add(time.Hour)},
		"long":        {24 * time.Hour, ends, noon.Add(-5 * time.Minute), noon.Add(24*time.Hour - 5*time.Minute)},
		"beyond ours": {24 * time.Hour, noon.Add(time.Hour), noon.Add(-5 * time.Minute), noon.Add(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Template(parsed, usages, test.lifetime, noon, test.ends)
			if err != nil {
				t.Fatal(err)
			}
			want := &x509.Certificate{
				Subject: parsed.Subject, DNSNames: []string{"a"}, BasicConstraintsValid: true,
				KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
				NotBefore: test.notBefore, NotAfter: test.end,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Template(parsed, []certificatesv1.KeyUsage{"x"}, time.Hour, noon, ends); err == nil || err.Error() != `unrecognized usage values: ["x"]` {
		t.Errorf("an unknown usage: %v", err)
	}
	if _, err := Template(parsed, usages, time.Hour, noon, noon); err == nil {
		t.Error("an authority that has expired signed")
	}
}
