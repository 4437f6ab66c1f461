package signing

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"minikcm.dev/minikcm/controllers/internal/certificates"
)

// Action is the action for a request.
type Action int

// The actions.
const (
	Nothing Action = iota
	Sign
	Fail
)

// Decide returns the action for a request, and the reason if it is Fail.
func Decide(request *certificatesv1.CertificateSigningRequest, parse func() (*x509.CertificateRequest, error)) (Action, error) {
	check, ours := signers()[request.Spec.SignerName]
	if !ours || certificates.Issued(request) || !certificates.Approved(request) || certificates.Failed(request) {
		return Nothing, nil
	}
	parsed, err := parse()
	if err != nil {
		return Nothing, fmt.Errorf("unable to parse csr %q: %w", request.Name, err)
	}
	if err := check(parsed, request.Spec.Usages); err != nil {
		return Fail, err
	}
	return Sign, nil
}

// signers maps the supported signers to their checks of a request.
func signers() map[string]func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error {
	return map[string]func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error{
		certificatesv1.KubeletServingSignerName:             certificates.CheckKubeletServing,
		certificatesv1.KubeAPIServerClientKubeletSignerName: certificates.CheckKubeletClient,
		certificatesv1.KubeAPIServerClientSignerName: func(_ *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
			return checkClientUsages(usages)
		},
		certificatesv1beta1.LegacyUnknownSignerName: func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error { return nil },
	}
}

func checkClientUsages(usages []certificatesv1.KeyUsage) error {
	for _, usage := range usages {
		switch usage {
		case certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth:
		default:
			return fmt.Errorf("invalid usage for client certificate: %s", usage)
		}
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return nil
}

// The lifetimes of certificates, as upstream.
const (
	// DefaultLifetime is the default of the longest lifetime, --cluster-signing-duration.
	DefaultLifetime  = 365 * 24 * time.Hour
	shortestLifetime = 10 * time.Minute
	// backdate allows for clocks that are behind. It does not shorten the lifetime of a
	// certificate below shortLifetime.
	backdate      = 5 * time.Minute
	shortLifetime = 8 * time.Hour
)

// Lifetime returns the lifetime of the certificate for a request.
func Lifetime(asked *int32, longest time.Duration) time.Duration {
	if asked == nil {
		return longest
	}
	return min(max(time.Duration(*asked)*time.Second, shortestLifetime), longest)
}

// Template returns the certificate to sign: the contents of the request without its
// extensions. authorityEnds is the expiry of the authority's own certificate.
func Template(parsed *x509.CertificateRequest, usages []certificatesv1.KeyUsage, lifetime time.Duration, now, authorityEnds time.Time) (*x509.Certificate, error) {
	if !now.Before(authorityEnds) {
		return nil, fmt.Errorf("refusing to sign a certificate that expired in the past: NotAfter=%v", authorityEnds)
	}
	template := &x509.Certificate{
		Subject: parsed.Subject, DNSNames: parsed.DNSNames, IPAddresses: parsed.IPAddresses,
		EmailAddresses: parsed.EmailAddresses, URIs: parsed.URIs,
		PublicKeyAlgorithm: parsed.PublicKeyAlgorithm, PublicKey: parsed.PublicKey,
		BasicConstraintsValid: true,
		NotBefore:             now.Add(-backdate), NotAfter: now.Add(lifetime),
	}
	if lifetime >= shortLifetime {
		template.NotAfter = template.NotAfter.Add(-backdate)
	}
	if template.NotAfter.After(authorityEnds) {
		template.NotAfter = authorityEnds
	}
	var unknown []certificatesv1.KeyUsage
	for _, usage := range usages {
		if bit, ok := keyUsages()[usage]; ok {
			template.KeyUsage |= bit
		} else if extended, ok := extendedUsages()[usage]; ok {
			template.ExtKeyUsage = append(template.ExtKeyUsage, extended)
		} else {
			unknown = append(unknown, usage)
		}
	}
	slices.Sort(template.ExtKeyUsage)
	template.ExtKeyUsage = slices.Compact(template.ExtKeyUsage)
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unrecognized usage values: %q", unknown)
	}
	return template, nil
}

func keyUsages() map[certificatesv1.KeyUsage]x509.KeyUsage {
	return map[certificatesv1.KeyUsage]x509.KeyUsage{
		certificatesv1.UsageSigning:           x509.KeyUsageDigitalSignature,
		certificatesv1.UsageDigitalSignature:  x509.KeyUsageDigitalSignature,
		certificatesv1.UsageContentCommitment: x509.KeyUsageContentCommitment,
		certificatesv1.UsageKeyEncipherment:   x509.KeyUsageKeyEncipherment,
		certificatesv1.UsageKeyAgreement:      x509.KeyUsageKeyAgreement,
		certificatesv1.UsageDataEncipherment:  x509.KeyUsageDataEncipherment,
		certificatesv1.UsageCertSign:          x509.KeyUsageCertSign,
		certificatesv1.UsageCRLSign:           x509.KeyUsageCRLSign,
		certificatesv1.UsageEncipherOnly:      x509.KeyUsageEncipherOnly,
		certificatesv1.UsageDecipherOnly:      x509.KeyUsageDecipherOnly,
	}
}

func extendedUsages() map[certificatesv1.KeyUsage]x509.ExtKeyUsage {
	return map[certificatesv1.KeyUsage]x509.ExtKeyUsage{
		certificatesv1.UsageAny:             x509.ExtKeyUsageAny,
		certificatesv1.UsageServerAuth:      x509.ExtKeyUsageServerAuth,
		certificatesv1.UsageClientAuth:      x509.ExtKeyUsageClientAuth,
		certificatesv1.UsageCodeSigning:     x509.ExtKeyUsageCodeSigning,
		certificatesv1.UsageEmailProtection: x509.ExtKeyUsageEmailProtection,
		certificatesv1.UsageSMIME:           x509.ExtKeyUsageEmailProtection,
		certificatesv1.UsageIPsecEndSystem:  x509.ExtKeyUsageIPSECEndSystem,
		certificatesv1.UsageIPsecTunnel:     x509.ExtKeyUsageIPSECTunnel,
		certificatesv1.UsageIPsecUser:       x509.ExtKeyUsageIPSECUser,
		certificatesv1.UsageTimestamping:    x509.ExtKeyUsageTimeStamping,
		certificatesv1.UsageOCSPSigning:     x509.ExtKeyUsageOCSPSigning,
		certificatesv1.UsageMicrosoftSGC:    x509.ExtKeyUsageMicrosoftServerGatedCrypto,
		certificatesv1.UsageNetscapeSGC:     x509.ExtKeyUsageNetscapeServerGatedCrypto,
	}
}
