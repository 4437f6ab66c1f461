package approving

import (
	"crypto/x509"

	certificatesv1 "k8s.io/api/certificates/v1"

	"minikcm.dev/minikcm/controllers/internal/certificates"
)

// Permission is a permission that the requester needs for the approval of the request.
type Permission struct {
	// Subresource is the subresource of certificatesigningrequests that the requester may
	// create.
	Subresource string
	// Message is the message of the Approved condition.
	Message string
}

// Decide returns the permissions of which any one suffices to approve the request; none if
// it is already decided, or is not for this controller to decide.
func Decide(request *certificatesv1.CertificateSigningRequest, parsed *x509.CertificateRequest) []Permission {
	if Settled(request) || request.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName ||
		certificates.CheckKubeletClient(parsed, request.Spec.Usages) != nil {
		return nil
	}
	var permissions []Permission
	if request.Spec.Username == parsed.Subject.CommonName {
		permissions = append(permissions, Permission{"selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."})
	}
	return append(permissions, Permission{"nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."})
}

// Settled reports whether a request is approved, denied or issued.
func Settled(request *certificatesv1.CertificateSigningRequest) bool {
	return certificates.Issued(request) || certificates.Has(request, certificatesv1.CertificateApproved) || certificates.Has(request, certificatesv1.CertificateDenied)
}
