package cleaner

import (
	"crypto/x509"
	"encoding/pem"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"minikcm.dev/minikcm/controllers/internal/certificates"
)

// The time for which requests are kept, as upstream.
const (
	answeredFor = time.Hour
	pendingFor  = 24 * time.Hour
)

// Decide returns the time at which a request has to be deleted, by the cluster's clock,
// whose time is now. ok is false if there is no such time. Certificates expire by the
// machine's time.
func Decide(request *certificatesv1.CertificateSigningRequest, now, machine time.Time) (goes time.Time, ok bool) {
	sooner := func(t time.Time) {
		if !ok || t.Before(goes) {
			goes, ok = t, true
		}
	}
	issued := certificates.Issued(request)
	if len(request.Status.Conditions) == 0 {
		sooner(request.CreationTimestamp.Add(pendingFor))
	}
	for _, c := range request.Status.Conditions {
		if c.Type == certificatesv1.CertificateApproved && issued {
			if ends, known := expiry(request.Status.Certificate); known {
				sooner(now.Add(ends.Sub(machine)))
			}
		}
		if c.LastUpdateTime.IsZero() {
			continue
		}
		switch c.Type {
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			sooner(c.LastUpdateTime.Add(answeredFor))
		case certificatesv1.CertificateApproved:
			if issued {
				sooner(c.LastUpdateTime.Add(answeredFor))
			} else {
				sooner(c.LastUpdateTime.Add(pendingFor))
			}
		}
	}
	return goes, ok
}

// expiry returns the time at which the first certificate of a chain expires.
func expiry(chain []byte) (time.Time, bool) {
	block, _ := pem.Decode(chain)
	if block == nil {
		return time.Time{}, false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, false
	}
	return certificate.NotAfter, true
}
