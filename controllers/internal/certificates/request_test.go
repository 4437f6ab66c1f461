package certificates

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// node returns a kubelet's request after change.
func node(change func(r *x509.CertificateRequest)) *x509.CertificateRequest {
	r := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:n", Organization: []string{"system:nodes"}}}
	change(r)
	return r
}

func TestKubelets(t *testing.T) {
	none := func(*x509.CertificateRequest) {}
	dns := func(r *x509.CertificateRequest) { r.DNSNames = []string{"n"} }
	client := []certificatesv1.KeyUsage{"key encipherment", "digital signature", "client auth"}
	short := []certificatesv1.KeyUsage{"client auth", "digital signature"}
	serving := []certificatesv1.KeyUsage{"server auth", "digital signature"}
	for name, test := range map[string]struct {
		request         *x509.CertificateRequest
		usages          []certificatesv1.KeyUsage
		client, serving string
	}{
		"client":       {node(none), client, "", "DNS or IP subjectAltName is required"},
		"no RSA":       {node(none), short, "", "DNS or IP subjectAltName is required"},
		"serving":      {node(dns), serving, "DNS subjectAltNames are not allowed", ""},
		"by address":   {node(func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{{1, 2, 3, 4}} }), serving, "IP subjectAltNames are not allowed", ""},
		"organization": {node(func(r *x509.CertificateRequest) { r.Subject.Organization = nil }), client, "subject organization is not system:nodes", "subject organization is not system:nodes"},
		"name": {
			node(func(r *x509.CertificateRequest) { r.Subject.CommonName = "jane"; dns(r) }), serving,
			"DNS subjectAltNames are not allowed", "subject common name does not begin with system:node:",
		},
		"mail": {
			node(func(r *x509.CertificateRequest) {
				r.EmailAddresses = []string{"a@b"}
				r.IPAddresses = []net.IP{{1, 2, 3, 4}}
			}), client,
			"Email subjectAltNames are not allowed", "Email subjectAltNames are not allowed",
		},
		"URI": {
			node(func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{}}; r.IPAddresses = nil; r.DNSNames = nil }), client,
			"URI subjectAltNames are not allowed", "DNS or IP subjectAltName is required",
		},
		"usages": {
			node(dns),
			[]certificatesv1.KeyUsage{"any"},
			"DNS subjectAltNames are not allowed", "usages did not match [digital signature key encipherment server auth]",
		},
		"client's usages": {
			node(none),
			[]certificatesv1.KeyUsage{"client auth"},
			"usages did not match [client auth digital signature key encipherment]", "DNS or IP subjectAltName is required",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text(CheckKubeletClient(test.request, test.usages)); got != test.client {
				t.Errorf("as a client: %q", got)
			}
			if got := text(CheckKubeletServing(test.request, test.usages)); got != test.serving {
				t.Errorf("serving: %q", got)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestConditions(t *testing.T) {
	with := func(types ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
		r := &certificatesv1.CertificateSigningRequest{}
		for _, of := range types {
			r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: of, Status: corev1.ConditionTrue})
		}
		return r
	}
	if Approved(with()) || !Approved(with("Approved")) || Approved(with("Approved", "Denied")) {
		t.Error("Approved() is wrong")
	}
	if Failed(with("Approved")) || !Failed(with("Failed")) {
		t.Error("Failed() is wrong")
	}
	if _, err := Parse(with()); err == nil {
		t.Error("nothing was parsed")
	}
}
