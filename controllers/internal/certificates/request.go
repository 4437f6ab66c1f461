package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// Parse parses the PEM block of a request.
func Parse(request *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(request.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// Has reports whether a request has a condition of a type.
func Has(request *certificatesv1.CertificateSigningRequest, of certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(request.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == of })
}

// Approved reports whether a request is approved and not denied.
func Approved(request *certificatesv1.CertificateSigningRequest) bool {
	return Has(request, certificatesv1.CertificateApproved) && !Has(request, certificatesv1.CertificateDenied)
}

// Failed reports whether a signer has failed a request.
func Failed(request *certificatesv1.CertificateSigningRequest) bool {
	return slices.ContainsFunc(request.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateFailed && c.Status == corev1.ConditionTrue
	})
}

// Issued reports whether the request has its certificate.
func Issued(request *certificatesv1.CertificateSigningRequest) bool {
	return len(request.Status.Certificate) > 0
}

// CheckKubeletClient returns an error if the request is not one of a kubelet for its client
// certificate.
func CheckKubeletClient(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	if err := checkOrganization(r); err != nil {
		return err
	}
	switch {
	case len(r.DNSNames) > 0:
		return errors.New("DNS subjectAltNames are not allowed")
	case len(r.EmailAddresses) > 0:
		//lint:ignore ST1005 clients see upstream's text
		return errors.New("Email subjectAltNames are not allowed")
	case len(r.IPAddresses) > 0:
		return errors.New("IP subjectAltNames are not allowed")
	case len(r.URIs) > 0:
		return errors.New("URI subjectAltNames are not allowed")
	}
	if err := checkCommonName(r); err != nil {
		return err
	}
	return checkUsages(usages, certificatesv1.UsageClientAuth)
}

// CheckKubeletServing returns an error if the request is not one of a kubelet for its
// serving certificate.
func CheckKubeletServing(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	if err := checkOrganization(r); err != nil {
		return err
	}
	switch {
	case len(r.DNSNames) == 0 && len(r.IPAddresses) == 0:
		return errors.New("DNS or IP subjectAltName is required")
	case len(r.EmailAddresses) > 0:
		//lint:ignore ST1005 clients see upstream's text
		return errors.New("Email subjectAltNames are not allowed")
	case len(r.URIs) > 0:
		return errors.New("URI subjectAltNames are not allowed")
	}
	if err := checkUsages(usages, certificatesv1.UsageServerAuth); err != nil {
		return err
	}
	return checkCommonName(r)
}

func checkOrganization(r *x509.CertificateRequest) error {
	if !slices.Equal(r.Subject.Organization, []string{"system:nodes"}) {
		return errors.New("subject organization is not system:nodes")
	}
	return nil
}

func checkCommonName(r *x509.CertificateRequest) error {
	if !strings.HasPrefix(r.Subject.CommonName, "system:node:") {
		//lint:ignore ST1005 clients see upstream's text
		return errors.New("subject common name does not begin with system:node:")
	}
	return nil
}

// checkUsages requires the purpose and digital signature, and accepts key encipherment,
// which keys other than RSA's do not need.
func checkUsages(usages []certificatesv1.KeyUsage, purpose certificatesv1.KeyUsage) error {
	want := []certificatesv1.KeyUsage{purpose, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}
	slices.Sort(want)
	got := slices.Clone(usages)
	slices.Sort(got)
	got = slices.Compact(got)
	if slices.Equal(got, want) {
		return nil
	}
	if !slices.Contains(got, certificatesv1.UsageKeyEncipherment) && len(got) == 2 && slices.Contains(got, purpose) && slices.Contains(got, certificatesv1.UsageDigitalSignature) {
		return nil
	}
	return fmt.Errorf("usages did not match %v", want)
}
