package approving

import (
	"crypto/x509"

	certificatesv1 "k8s.io/api/certificates/v1"

	"minikcm.dev/minikcm/controllers/certificates"
)

// Permission is what somebody must be allowed to do for their request to be approved.
type Permission struct {
	// Subresource of certificatesigningrequests that they may create.
	Subresource string
	// Message is the condition's.
	Message string
}

// Decide returns the permissions of which any one suffices to approve the request; none
// if it is decided already, or is not for this controller to decide.
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

// Settled reports whether nothing is left to decide about a request.
func Settled(request *certificatesv1.CertificateSigningRequest) bool {
	return certificates.Issued(request) || certificates.Has(request, certificatesv1.CertificateApproved) || certificates.Has(request, certificatesv1.CertificateDenied)
}
