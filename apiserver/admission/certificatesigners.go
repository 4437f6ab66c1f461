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
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/apiserver/auth"
)

// CertificateSigners allows a user to approve or sign certificate requests only with
// permissions for the request's signer, and rejects requests for client certificates of
// the group system:masters, as upstream's plugins CertificateApproval,
// CertificateSigning and CertificateSubjectRestriction.
type CertificateSigners struct {
	Authorizer auth.Authorizer
}

// Check implements Checker.
func (p CertificateSigners) Check(ctx context.Context, a *Attributes) error {
	request, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return nil
	}
	if a.Operation == Create && a.Subresource == "" {
		return p.checkSubject(a, request)
	}
	old, ok := a.Old.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Operation != Update {
		return nil
	}
	// Use the old signer name: an approval must not change it.
	switch a.Subresource {
	case "approval":
		if !p.may(ctx, a.User, "approve", old.Spec.SignerName) {
			return forbid(a, fmt.Errorf("user not permitted to approve requests with signerName %q", old.Spec.SignerName))
		}
	case "status":
		if bytes.Equal(request.Status.Certificate, old.Status.Certificate) && apiequality.Semantic.DeepEqual(request.Status.Conditions, old.Status.Conditions) {
			return nil
		}
		if !p.may(ctx, a.User, "sign", old.Spec.SignerName) {
			return forbid(a, fmt.Errorf("user not permitted to sign requests with signerName %q", old.Spec.SignerName))
		}
	}
	return nil
}

// may checks the permission for the signer by its name, and for all signers of its
// domain.
func (p CertificateSigners) may(ctx context.Context, user *auth.User, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, _, _ := p.Authorizer.Authorize(ctx, auth.Attributes{
			User: user, Verb: verb, Resource: true, Group: certificatesv1.GroupName, Version: "*", Plural: "signers", Name: name,
		})
		if decision == auth.Allow {
			return true
		}
	}
	return false
}

func (CertificateSigners) checkSubject(a *Attributes, request *certificatesv1.CertificateSigningRequest) error {
	if request.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	block, _ := pem.Decode(request.Spec.Request)
	if block == nil {
		return nil // validation reports that
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return forbid(a, fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(parsed.Subject.Organization, auth.GroupMasters) {
		return forbid(a, fmt.Errorf("use of %s signer with %s group is not allowed", request.Spec.SignerName, auth.GroupMasters))
	}
	return nil
}

func forbid(a *Attributes, why error) error {
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, why)
}
