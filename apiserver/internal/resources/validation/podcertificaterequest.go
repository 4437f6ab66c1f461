package validation

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strconv"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DefaultPodCertificateSeconds is the lifetime of a pod's certificate whose request states
// none.
const DefaultPodCertificateSeconds int32 = 24 * 60 * 60

// The limits of a request: of its texts in bytes, of the certificate's lifetime in
// seconds.
const (
	longestStubRequest             = 10 << 10
	longestUID                     = 128
	minPodCertificateSeconds int32 = 60 * 60
	maxPodCertificateSeconds int32 = 91 * 24 * 60 * 60
)

func PodCertificateRequest(r *certificatesv1.PodCertificateRequest) field.ErrorList {
	spec, p := &r.Spec, field.NewPath("spec")
	errs := validateSignerName(p.Child("signerName"), spec.SignerName)
	for _, name := range []struct{ field, value string }{
		{"podName", spec.PodName},
		{"serviceAccountName", spec.ServiceAccountName},
		{"nodeName", string(spec.NodeName)},
	} {
		errs = append(errs, invalidFor(p.Child(name.field), name.value, isDNSSubdomain(name.value))...)
	}
	for _, uid := range []struct{ field, value string }{
		{"podUID", string(spec.PodUID)},
		{"serviceAccountUID", string(spec.ServiceAccountUID)},
		{"nodeUID", string(spec.NodeUID)},
	} {
		switch {
		case uid.value == "":
			errs = append(errs, field.Invalid(p.Child(uid.field), uid.value, "must not be empty"))
		case len(uid.value) > longestUID:
			errs = append(errs, field.TooLong(p.Child(uid.field), "", longestUID))
		}
	}
	switch s := spec.MaxExpirationSeconds; {
	case s == nil:
		errs = append(errs, field.Required(p.Child("maxExpirationSeconds"), "must be set"))
	case *s < minPodCertificateSeconds || *s > maxPodCertificateSeconds:
		errs = append(errs, field.Invalid(p.Child("maxExpirationSeconds"), *s, "must be in the range [3600, 7862400]"))
	}
	errs = append(errs, validateUserAnnotations(p.Child("unverifiedUserAnnotations"), spec.UnverifiedUserAnnotations)...)
	if len(spec.StubPKCS10Request) == 0 {
		return append(errs, field.Invalid(p, field.OmitValueType{}, "stubPKCS10Request must be set"))
	}
	return append(errs, validateStubRequest(p.Child("stubPKCS10Request"), spec.StubPKCS10Request)...)
}

// validateStubRequest requires a certificate request with a supported kind of key,
// signed by that key. Its other content does not matter.
func validateStubRequest(p *field.Path, der []byte) field.ErrorList {
	if len(der) > longestStubRequest {
		return field.ErrorList{field.TooLong(p, "", longestStubRequest)}
	}
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return field.ErrorList{field.Invalid(p, field.OmitValueType{}, "must be a valid PKCS#10 CSR")}
	}
	switch key := request.PublicKey.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() && key.Curve != elliptic.P521() {
			return field.ErrorList{field.Invalid(p, "curve "+key.Curve.Params().Name, "elliptic public keys must use curve P256, P384, or P521")}
		}
	case *rsa.PublicKey:
		if bits := key.Size() * 8; bits != 3072 && bits != 4096 {
			return field.ErrorList{field.Invalid(p, fmt.Sprintf("%d-bit modulus", bits), "RSA keys must have modulus size 3072 or 4096")}
		}
	default:
		return field.ErrorList{field.Invalid(p, field.OmitValueType{}, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")}
	}
	if request.CheckSignature() != nil {
		return field.ErrorList{field.Invalid(p, field.OmitValueType{}, "invalid signature")}
	}
	return nil
}

func PodCertificateRequestUpdate(r, old *certificatesv1.PodCertificateRequest) field.ErrorList {
	return immutable(field.NewPath("spec"), r.Spec, old.Spec)
}

// PodCertificateRequestStatus allows a request to be issued, denied or failed, once.
func PodCertificateRequestStatus(r, old *certificatesv1.PodCertificateRequest) field.ErrorList {
	p := field.NewPath("status")
	errs := outcomes(p.Child("conditions"), r.Status.Conditions)
	errs = append(errs, metav1validation.ValidateConditions(r.Status.Conditions, p.Child("conditions"))...)
	if len(errs) > 0 {
		return errs
	}
	same := func(wanted certificatesv1.PodCertificateRequestStatus, message string) field.ErrorList {
		if apiequality.Semantic.DeepEqual(r.Status, wanted) {
			return nil
		}
		return field.ErrorList{field.Invalid(p, field.OmitValueType{}, message)}
	}
	if outcome(old) != "" {
		return same(old.Status, "immutable after PodCertificateRequest is issued, denied, or failed")
	}
	switch outcome(r) {
	case certificatesv1.PodCertificateRequestConditionTypeDenied, certificatesv1.PodCertificateRequestConditionTypeFailed:
		return same(certificatesv1.PodCertificateRequestStatus{Conditions: r.Status.Conditions},
			"non-condition status fields must be empty when denying or failing the PodCertificateRequest")
	case certificatesv1.PodCertificateRequestConditionTypeIssued:
		return validateIssued(p, r)
	}
	return same(old.Status, `status is immutable unless transitioning to "Issued", "Denied", or "Failed"`)
}

// outcomes requires conditions with one outcome. Upstream's paths have a dot before the
// index.
func outcomes(p *field.Path, conditions []metav1.Condition) field.ErrorList {
	var errs field.ErrorList
	known := 0
	for i, c := range conditions {
		at := p.Child(fmt.Sprintf("[%d]", i))
		switch c.Type {
		case certificatesv1.PodCertificateRequestConditionTypeIssued, certificatesv1.PodCertificateRequestConditionTypeDenied, certificatesv1.PodCertificateRequestConditionTypeFailed:
			if known++; known > 1 {
				errs = append(errs, field.Invalid(at.Child("type"), c.Type, `There may be at most one condition with type "Issued", "Denied", or "Failed"`))
			}
			errs = append(errs, oneOf(at.Child("status"), c.Status, metav1.ConditionTrue)...)
		default:
			errs = append(errs, oneOf(at.Child("type"), c.Type, certificatesv1.PodCertificateRequestConditionTypeIssued,
				certificatesv1.PodCertificateRequestConditionTypeDenied, certificatesv1.PodCertificateRequestConditionTypeFailed)...)
		}
	}
	return errs
}

// outcome returns the outcome of a request, or "".
func outcome(r *certificatesv1.PodCertificateRequest) string {
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case certificatesv1.PodCertificateRequestConditionTypeIssued, certificatesv1.PodCertificateRequestConditionTypeDenied, certificatesv1.PodCertificateRequestConditionTypeFailed:
			return c.Type
		}
	}
	return ""
}

// validateIssued validates the chain, and that the status has the certificate's times.
func validateIssued(p *field.Path, r *certificatesv1.PodCertificateRequest) field.ErrorList {
	s, chain := &r.Status, p.Child("certificateChain")
	if errs := validateChain(chain, []byte(s.CertificateChain)); len(errs) > 0 {
		return errs
	}
	block, _ := pem.Decode([]byte(s.CertificateChain))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return field.ErrorList{field.Invalid(chain, s.CertificateChain, "leaf certificate does not parse as valid X.509")}
	}
	if request, err := x509.ParseCertificateRequest(r.Spec.StubPKCS10Request); err == nil {
		key, ok := request.PublicKey.(interface {
			Equal(other crypto.PublicKey) bool
		})
		if ok && !key.Equal(leaf.PublicKey) {
			return field.ErrorList{field.Invalid(chain, s.CertificateChain, "leaf certificate was not issued to the requested public key")}
		}
	}
	var errs field.ErrorList
	for _, at := range []struct {
		name    string
		time    *metav1.Time
		message string
	}{
		{"notBefore", s.NotBefore, "must be present and consistent with the issued certificate"},
		{"notAfter", s.NotAfter, "must be present and consistent with the issued certificate"},
		{"beginRefreshAt", s.BeginRefreshAt, "must be present and in the range [notbefore+10min, notafter-10min]"},
	} {
		if at.time == nil {
			errs = append(errs, field.Required(p.Child(at.name), at.message))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return validateIssuedTimes(p, r, leaf)
}

// maxPodCertificateSkew is the maximum difference between now and the start of a
// certificate's validity.
const maxPodCertificateSkew = 5 * time.Minute

// PodCertificateRequestTime rejects a certificate that was not issued just now.
func PodCertificateRequestTime(obj, old runtime.Object, now time.Time) field.ErrorList {
	r, before := obj.(*certificatesv1.PodCertificateRequest), old.(*certificatesv1.PodCertificateRequest)
	if outcome(before) != "" || outcome(r) != certificatesv1.PodCertificateRequestConditionTypeIssued {
		return nil
	}
	if from := r.Status.NotBefore; from.Sub(now).Abs() > maxPodCertificateSkew {
		return field.ErrorList{field.Invalid(field.NewPath("status", "notBefore"), from.Time, "must be set to within 5 minutes of kube-apiserver's current time")}
	}
	return nil
}

func validateIssuedTimes(p *field.Path, r *certificatesv1.PodCertificateRequest, leaf *x509.Certificate) field.ErrorList {
	s, margin, lifetime := &r.Status, 10*time.Minute, leaf.NotAfter.Sub(leaf.NotBefore)
	longest := time.Duration(deref(r.Spec.MaxExpirationSeconds)) * time.Second
	switch {
	case !s.NotBefore.Time.Equal(leaf.NotBefore):
		return field.ErrorList{field.Invalid(p.Child("notBefore"), s.NotBefore, "must be set to the NotBefore time encoded in the leaf certificate")}
	case !s.NotAfter.Time.Equal(leaf.NotAfter):
		return field.ErrorList{field.Invalid(p.Child("notAfter"), s.NotAfter, "must be set to the NotAfter time encoded in the leaf certificate")}
	case lifetime < time.Hour:
		return field.ErrorList{field.Invalid(p.Child("certificateChain"), lifetime, "leaf certificate lifetime must be >= 1 hour")}
	case lifetime > longest:
		return field.ErrorList{field.Invalid(p.Child("certificateChain"), lifetime, fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%v)", deref(r.Spec.MaxExpirationSeconds)))}
	case s.BeginRefreshAt.Time.Before(s.NotBefore.Add(margin)):
		return field.ErrorList{field.Invalid(p.Child("beginRefreshAt"), s.BeginRefreshAt, "must be at least 10 minutes after status.notBefore")}
	case s.BeginRefreshAt.After(s.NotAfter.Add(-margin)):
		return field.ErrorList{field.Invalid(p.Child("beginRefreshAt"), s.BeginRefreshAt, "must be at least 10 minutes before status.notAfter")}
	}
	return nil
}

// mostCertificateSeconds returns the maximum lifetime of a signer's certificates: a day for
// Kubernetes' own signers.
func mostCertificateSeconds(signer string) int32 {
	if domain, _, _ := strings.Cut(signer, "/"); domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		return DefaultPodCertificateSeconds
	}
	return maxPodCertificateSeconds
}

func decimal(n int32) string { return strconv.Itoa(int(n)) }
