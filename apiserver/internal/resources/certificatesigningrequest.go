package resources

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func certificateSigningRequestRow() *Resource {
	kind := certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest")
	newRequest := func() runtime.Object { return &certificatesv1.CertificateSigningRequest{} }
	return &Resource{
		GroupVersionKind: kind,
		Plural:           "certificatesigningrequests",
		ShortNames:       []string{"csr"},
		New:              newRequest,
		NewList:          func() runtime.Object { return &certificatesv1.CertificateSigningRequestList{} },
		SelectableFields: []string{"spec.signerName"},
		Field:            fieldOf(signingRequestField),
		Strategy: Strategy{
			NameCheck:            path.ValidatePathSegmentName,
			Default:              on(defaultSigningRequest),
			PrepareUpdate:        onUpdate(func(r, old *certificatesv1.CertificateSigningRequest) { r.Spec = old.Spec }),
			PrepareStatusUpdate:  onUpdate(keepDecision),
			Validate:             check(validation.CertificateSigningRequest),
			ValidateStatusUpdate: checkUpdate(validation.CertificateSigningRequestStatus),
			NotOwned: map[string][]string{
				"": {"spec", "status"}, "status": {"spec", "status.conditions"}, "approval": {"spec", "status.certificate"},
			},
		},
		Subresources: []Subresource{
			{
				Name:             "approval",
				GroupVersionKind: kind,
				NoTable:          true,
				Verbs:            StatusVerbs,
				New:              newRequest,
				Get:              func(parent runtime.Object) (runtime.Object, error) { return parent, nil },
				UpdateAt:         writeIntoAt(approve),
			},
			statusOf(kind, newRequest),
		},
	}
}

func signingRequestField(r *certificatesv1.CertificateSigningRequest, label string) string {
	if label == "spec.signerName" {
		return r.Spec.SignerName
	}
	return ""
}

func defaultSigningRequest(r *certificatesv1.CertificateSigningRequest) {
	for i := range r.Status.Conditions {
		setDefault(&r.Status.Conditions[i].Status, "True")
	}
}

// approve writes only the conditions and metadata: an approval must not issue the
// certificate.
func approve(r, sent *certificatesv1.CertificateSigningRequest, now time.Time) error {
	was := r.Status.Conditions
	takeMetadata(r, sent)
	r.Status.Conditions = sent.Status.DeepCopy().Conditions
	stampConditions(r.Status.Conditions, was, metav1.NewTime(now.Truncate(time.Second)))
	if errs := validation.SigningRequestDecision(r); len(errs) > 0 {
		return invalidSigningRequest(r.Name, errs)
	}
	return nil
}

// stampConditions sets the times that the client omitted.
func stampConditions(conditions, was []certificatesv1.CertificateSigningRequestCondition, now metav1.Time) {
	for i := range conditions {
		c := &conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		for j := range was {
			if was[j].Type == c.Type && was[j].Status == c.Status {
				c.LastTransitionTime = was[j].LastTransitionTime
			}
		}
	}
}

// keepDecision restores the Approved and Denied conditions in an update of the status, which must
// only issue the certificate. If some were added or removed, it keeps them, and validation rejects
// the update.
func keepDecision(r, old *certificatesv1.CertificateSigningRequest) {
	for _, of := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied} {
		was := validation.SigningRequestConditions(old, of)
		if len(was) != len(validation.SigningRequestConditions(r, of)) {
			continue
		}
		for i := range r.Status.Conditions {
			if r.Status.Conditions[i].Type == of {
				r.Status.Conditions[i], was = was[0], was[1:]
			}
		}
	}
}

func invalidSigningRequest(name string, errs field.ErrorList) error {
	return apierrors.NewInvalid(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest").GroupKind(), name, errs)
}
