package validation

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	minCertificateSeconds int32 = 600
	requestBlock                = "CERTIFICATE REQUEST"
	certificateBlock            = "CERTIFICATE"
	// maxSignerName leaves room for an RBAC resource that contains the signer's name.
	maxSignerName = 571
)

// keyUsages are all usages, in the order in which errors list them.
var keyUsages = []certificatesv1.KeyUsage{
	certificatesv1.UsageAny, certificatesv1.UsageCertSign, certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning,
	certificatesv1.UsageContentCommitment, certificatesv1.UsageCRLSign, certificatesv1.UsageDataEncipherment, certificatesv1.UsageDecipherOnly,
	certificatesv1.UsageDigitalSignature, certificatesv1.UsageEmailProtection, certificatesv1.UsageEncipherOnly, certificatesv1.UsageIPsecEndSystem,
	certificatesv1.UsageIPsecTunnel, certificatesv1.UsageIPsecUser, certificatesv1.UsageKeyAgreement, certificatesv1.UsageKeyEncipherment,
	certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC, certificatesv1.UsageOCSPSigning, certificatesv1.UsageServerAuth,
	certificatesv1.UsageSMIME, certificatesv1.UsageSigning, certificatesv1.UsageTimestamping,
}

var errNotARequest = errors.New("PEM block type must be " + requestBlock)

func CertificateSigningRequest(r *certificatesv1.CertificateSigningRequest) field.ErrorList {
	spec, p := &r.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if err := parseRequest(spec.Request); err != nil {
		errs = append(errs, field.Invalid(p.Child("request"), spec.Request, err.Error()))
	}
	if len(spec.Usages) == 0 {
		errs = append(errs, field.Required(p.Child("usages"), ""))
	}
	for i, usage := range spec.Usages {
		at := p.Child("usages").Index(i)
		errs = append(errs, oneOf(at, usage, keyUsages...)...)
		if slices.Contains(spec.Usages[:i], usage) {
			errs = append(errs, field.Duplicate(at, usage))
		}
	}
	if spec.SignerName == "kubernetes.io/legacy-unknown" {
		errs = append(errs, field.Invalid(p.Child("signerName"), spec.SignerName, "the legacy signerName is not allowed via this API version"))
	} else {
		errs = append(errs, validateSignerName(p.Child("signerName"), spec.SignerName)...)
	}
	if s := spec.ExpirationSeconds; s != nil && *s < minCertificateSeconds {
		errs = append(errs, field.Invalid(p.Child("expirationSeconds"), *s, "may not specify a duration less than 600 seconds (10 minutes)"))
	}
	return append(errs, SigningRequestDecision(r)...)
}

func parseRequest(data []byte) error {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != requestBlock {
		return errNotARequest
	}
	_, err := x509.ParseCertificateRequest(block.Bytes)
	return err
}

// validateSignerName requires the form "example.com/signer-name".
func validateSignerName(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	domain, rest, found := strings.Cut(name, "/")
	if !found || strings.Contains(rest, "/") {
		return field.ErrorList{field.Invalid(p, name, "must be a fully qualified domain and path of the form \"example.com/signer-name\"")}
	}
	var errs field.ErrorList
	for _, message := range validation.IsDNS1123Subdomain(domain) {
		errs = append(errs, field.Invalid(p, domain, "validating label \""+domain+"\": "+message))
	}
	if !strings.Contains(domain, ".") {
		errs = append(errs, field.Invalid(p, domain, "should be a domain with at least two segments separated by dots"))
	}
	for _, message := range validation.IsDNS1123Subdomain(rest) {
		errs = append(errs, field.Invalid(p, rest, "validating label \""+rest+"\": "+message))
	}
	if len(name) > maxSignerName {
		errs = append(errs, field.TooLong(p, name, maxSignerName))
	}
	return errs
}

// SigningRequestDecision requires that a request is not both approved and denied, and that
// neither condition is false.
func SigningRequestDecision(r *certificatesv1.CertificateSigningRequest) field.ErrorList {
	p := field.NewPath("status", "conditions")
	var errs field.ErrorList
	var types nameList
	approved, denied := false, false
	for i, c := range r.Status.Conditions {
		at := p.Index(i)
		if c.Type == "" {
			errs = append(errs, field.Required(at.Child("type"), ""))
		}
		errs = append(errs, types.add(at.Child("type"), string(c.Type))...)
		switch c.Type {
		case certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			approved = approved || c.Type == certificatesv1.CertificateApproved
			denied = denied || c.Type == certificatesv1.CertificateDenied
			errs = append(errs, requiredOneOf(at.Child("status"), c.Status, corev1.ConditionTrue)...)
		default:
			errs = append(errs, requiredOneOf(at.Child("status"), c.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)...)
		}
	}
	if approved && denied {
		errs = append(errs, field.Invalid(p, certificatesv1.CertificateDenied, "Approved and Denied conditions are mutually exclusive"))
	}
	return errs
}

func CertificateSigningRequestStatus(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	p := field.NewPath("status")
	errs := SigningRequestDecision(r)
	for _, of := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		now, was := SigningRequestConditions(r, of), SigningRequestConditions(old, of)
		decided := of != certificatesv1.CertificateFailed
		switch {
		case len(now) < len(was):
			errs = append(errs, field.Forbidden(p.Child("conditions"), fmt.Sprintf("updates may not remove a condition of type %q", of)))
		case decided && len(now) > len(was):
			errs = append(errs, field.Forbidden(p.Child("conditions"), fmt.Sprintf("updates may not add a condition of type %q", of)))
		case decided && !apiequality.Semantic.DeepEqual(now, was):
			errs = append(errs, field.Forbidden(p.Child("conditions"), fmt.Sprintf("updates may not modify a condition of type %q\n%v", of, diff.Diff(was, now))))
		}
	}
	if len(old.Status.Certificate) > 0 && !bytes.Equal(r.Status.Certificate, old.Status.Certificate) {
		errs = append(errs, field.Forbidden(p.Child("certificate"), "updates may not modify certificate content"))
	}
	if len(r.Status.Certificate) > 0 {
		errs = append(errs, validateChain(p.Child("certificate"), r.Status.Certificate)...)
	}
	return errs
}

// validateChain requires PEM blocks of certificates and nothing else.
func validateChain(p *field.Path, chain []byte) field.ErrorList {
	const redacted = "<certificate data>"
	rest := chain
	for blocks := 0; ; blocks++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			if blocks == 0 {
				return field.ErrorList{field.Invalid(p, redacted, "must contain at least one CERTIFICATE PEM block")}
			}
			return nil
		}
		switch _, err := x509.ParseCertificates(block.Bytes); {
		case block.Type != certificateBlock:
			return field.ErrorList{field.Invalid(p, redacted, fmt.Sprintf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type))}
		case len(block.Headers) > 0:
			return field.ErrorList{field.Invalid(p, redacted, fmt.Sprintf("no PEM block headers are permitted, found %d", len(block.Headers)))}
		case err != nil:
			return field.ErrorList{field.Invalid(p, redacted, err.Error())}
		}
	}
}

// SigningRequestConditions returns the conditions of one type.
func SigningRequestConditions(r *certificatesv1.CertificateSigningRequest, of certificatesv1.RequestConditionType) []certificatesv1.CertificateSigningRequestCondition {
	var all []certificatesv1.CertificateSigningRequestCondition
	for _, c := range r.Status.Conditions {
		if c.Type == of {
			all = append(all, c)
		}
	}
	return all
}
