package columns

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// CertificateSigningRequest is the Table of certificates.k8s.io/v1
// CertificateSigningRequests.
func CertificateSigningRequest() Table {
	doc := certificatesv1.CertificateSigningRequestSpec{}.SwaggerDoc()
	return table(func(r *certificatesv1.CertificateSigningRequest, now time.Time) []any {
		asked := none
		if s := r.Spec.ExpirationSeconds; s != nil {
			asked = duration.HumanDuration(time.Duration(*s) * time.Second)
		}
		return []any{
			r.Name, age(r.CreationTimestamp, now), orElse(r.Spec.SignerName, none), r.Spec.Username, asked, requestState(r),
		}
	},
		nameColumn(),
		ageColumn(),
		text("SignerName", doc["signerName"]),
		text("Requestor", doc["username"]),
		text("RequestedDuration", doc["expirationSeconds"]),
		text("Condition", certificatesv1.CertificateSigningRequestStatus{}.SwaggerDoc()["conditions"]),
	)
}

func requestState(r *certificatesv1.CertificateSigningRequest) string {
	has := map[certificatesv1.RequestConditionType]bool{}
	for _, c := range r.Status.Conditions {
		has[c.Type] = true
	}
	state := "Pending"
	switch {
	case has[certificatesv1.CertificateDenied]:
		state = "Denied"
	case has[certificatesv1.CertificateApproved]:
		state = "Approved"
	}
	if has[certificatesv1.CertificateFailed] {
		state += ",Failed"
	}
	if len(r.Status.Certificate) > 0 {
		state += ",Issued"
	}
	return state
}

// ClusterTrustBundle is the Table of certificates.k8s.io/v1 ClusterTrustBundles.
func ClusterTrustBundle() Table {
	return table(func(b *certificatesv1.ClusterTrustBundle, _ time.Time) []any {
		return []any{b.Name, orElse(b.Spec.SignerName, none)}
	},
		nameColumn(),
		text("SignerName", certificatesv1.ClusterTrustBundleSpec{}.SwaggerDoc()["signerName"]),
	)
}

// PodCertificateRequest is the Table of certificates.k8s.io/v1 PodCertificateRequests.
func PodCertificateRequest() Table {
	doc := certificatesv1.PodCertificateRequestSpec{}.SwaggerDoc()
	return table(func(r *certificatesv1.PodCertificateRequest, _ time.Time) []any {
		state := "Pending"
		for _, c := range r.Status.Conditions { // there is one at most, and it is True
			state = c.Type
		}
		return []any{
			r.Name, r.Spec.PodName, r.Spec.ServiceAccountName, string(r.Spec.NodeName), r.Spec.SignerName, state, labels.FormatLabels(r.Spec.UnverifiedUserAnnotations),
		}
	},
		nameColumn(),
		text("PodName", doc["podName"]),
		text("ServiceAccountName", doc["serviceAccountName"]),
		text("NodeName", doc["nodeName"]),
		text("SignerName", doc["signerName"]),
		text("State", "Whether the certificate was issued, denied, or could not be made."),
		text("UnverifiedUserAnnotations", doc["unverifiedUserAnnotations"]),
	)
}

// RuntimeClass is the Table of node.k8s.io/v1 RuntimeClasses.
func RuntimeClass() Table {
	return table(func(c *nodev1.RuntimeClass, now time.Time) []any {
		return []any{c.Name, c.Handler, age(c.CreationTimestamp, now)}
	},
		nameColumn(),
		text("Handler", nodev1.RuntimeClass{}.SwaggerDoc()["handler"]),
		ageColumn(),
	)
}
