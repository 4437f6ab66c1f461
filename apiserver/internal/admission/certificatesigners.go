package admission

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"minikcm.dev/minikcm/internal/auth"
)

// CertificateApproval allows a user to approve or deny certificate requests only with
// permission for the request's signer.
type CertificateApproval struct{ Authorizer auth.Authorizer }

// Check implements Checker.
func (p CertificateApproval) Check(ctx context.Context, a *Attributes) error {
	old := requestBefore(a)
	if old == nil || a.Subresource != "approval" {
		return nil
	}
	// Use the old signer name: an approval must not change it.
	if !mayUseSigner(ctx, p.Authorizer, a.User, "approve", old.Spec.SignerName) {
		return denied(a, fmt.Errorf("user not permitted to approve requests with signerName %q", old.Spec.SignerName))
	}
	return nil
}

// CertificateSigning allows a user to sign certificate requests only with permission for
// the request's signer.
type CertificateSigning struct{ Authorizer auth.Authorizer }

// Check implements Checker.
func (p CertificateSigning) Check(ctx context.Context, a *Attributes) error {
	old := requestBefore(a)
	if old == nil || a.Subresource != "status" {
		return nil
	}
	request, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok || bytes.Equal(request.Status.Certificate, old.Status.Certificate) && apiequality.Semantic.DeepEqual(request.Status.Conditions, old.Status.Conditions) {
		return nil
	}
	if !mayUseSigner(ctx, p.Authorizer, a.User, "sign", old.Spec.SignerName) {
		return denied(a, fmt.Errorf("user not permitted to sign requests with signerName %q", old.Spec.SignerName))
	}
	return nil
}

// requestBefore returns the certificate request before an update, or nil.
func requestBefore(a *Attributes) *certificatesv1.CertificateSigningRequest {
	if a.Operation != Update {
		return nil
	}
	old, _ := a.Old.(*certificatesv1.CertificateSigningRequest)
	return old
}

// mayUseSigner checks the permission for the signer by its name, and for all signers of
// its domain.
func mayUseSigner(ctx context.Context, authorizer auth.Authorizer, user *auth.User, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, _, _ := authorizer.Authorize(ctx, auth.Attributes{
			User: user, Verb: verb, Resource: true, Group: certificatesv1.GroupName, Version: "*", Plural: "signers", Name: name,
		})
		if decision == auth.Allow {
			return true
		}
	}
	return false
}

// CertificateSubjectRestriction rejects requests for client certificates of the group
// system:masters.
type CertificateSubjectRestriction struct{}

// Check implements Checker.
func (CertificateSubjectRestriction) Check(_ context.Context, a *Attributes) error {
	request, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Operation != Create || a.Subresource != "" || request.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	block, _ := pem.Decode(request.Spec.Request)
	if block == nil {
		return nil // validation reports that
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return denied(a, fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(parsed.Subject.Organization, auth.GroupMasters) {
		return denied(a, fmt.Errorf("use of %s signer with %s group is not allowed", request.Spec.SignerName, auth.GroupMasters))
	}
	return nil
}
