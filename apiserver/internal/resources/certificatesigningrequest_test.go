package resources

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func requestWith(certificate string, conditions ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
	r := &certificatesv1.CertificateSigningRequest{}
	r.Status.Certificate = []byte(certificate)
	for _, of := range conditions {
		r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: of, Status: corev1.ConditionTrue})
	}
	return r
}

func TestApproval(t *testing.T) {
	sub := rowOf(t, "certificates.k8s.io", "v1", "CertificateSigningRequest").Subresource("approval")
	stored, sent := requestWith("c"), requestWith("forged", certificatesv1.CertificateApproved)
	sent.Annotations = map[string]string{"by": "ann"}
	if err := sub.WriteInto(stored, sent, noon); err != nil {
		t.Fatal(err)
	}
	at := metav1.NewTime(noon)
	want := requestWith("c", certificatesv1.CertificateApproved)
	want.Annotations = sent.Annotations
	want.Status.Conditions[0].LastUpdateTime, want.Status.Conditions[0].LastTransitionTime = at, at
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Sent again, the condition is newer but unchanged.
	if err := sub.WriteInto(stored, sent, noon.Add(time.Hour)); err != nil || !stored.Status.Conditions[0].LastTransitionTime.Equal(&at) {
		t.Errorf("%v: %v", err, stored.Status.Conditions)
	}
	both := requestWith("", certificatesv1.CertificateApproved, certificatesv1.CertificateDenied)
	if err := sub.WriteInto(stored, both, noon); !apierrors.IsInvalid(err) {
		t.Errorf("approved and denied: %v", err)
	}
}

// TestSigningRequestStatus checks that issuing a certificate cannot approve a request or
// replace a decision.
func TestSigningRequestStatus(t *testing.T) {
	strategy := rowOf(t, "certificates.k8s.io", "v1", "CertificateSigningRequest").Strategy
	obj, old := requestWith("", certificatesv1.CertificateApproved), requestWith("", certificatesv1.CertificateApproved)
	obj.Status.Conditions[0].Message = "another"
	strategy.PrepareStatusUpdate(obj, old)
	if obj.Status.Conditions[0].Message != "" {
		t.Error("the approval has changed")
	}
	got := texts(strategy.ValidateStatusUpdate(requestWith("b", certificatesv1.CertificateApproved), requestWith("a")))
	want := []string{
		`status.conditions: Forbidden: updates may not add a condition of type "Approved"`,
		"status.certificate: Forbidden: updates may not modify certificate content",
		`status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
