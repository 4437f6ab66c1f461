package resources

import (
	"strconv"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func podCertificateRequestRow() *Resource {
	kind := certificatesv1.SchemeGroupVersion.WithKind("PodCertificateRequest")
	newRequest := func() runtime.Object { return &certificatesv1.PodCertificateRequest{} }
	return &Resource{
		GroupVersionKind: kind,
		StoredVersion:    "v1beta1",
		Plural:           "podcertificaterequests",
		Namespaced:       true,
		New:              newRequest,
		NewList:          func() runtime.Object { return &certificatesv1.PodCertificateRequestList{} },
		SelectableFields: []string{"spec.signerName", "spec.podName", "spec.nodeName"},
		Field:            fieldOf(podCertificateField),
		Strategy: Strategy{
			Default:                   on(defaultPodCertificate),
			Validate:                  check(validatePodCertificate),
			ValidateUpdate:            checkUpdate(validatePodCertificateUpdate),
			ValidateStatusUpdate:      checkUpdate(validatePodCertificateStatus),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newRequest)},
	}
}

func podCertificateField(r *certificatesv1.PodCertificateRequest, label string) string {
	switch label {
	case "spec.signerName":
		return r.Spec.SignerName
	case "spec.podName":
		return r.Spec.PodName
	case "spec.nodeName":
		return string(r.Spec.NodeName)
	}
	return ""
}

// The life of a pod's certificate, in seconds.
const (
	defaultPodCertificateSeconds int32 = 24 * 60 * 60
	minPodCertificateSeconds     int32 = 60 * 60
	maxPodCertificateSeconds     int32 = 91 * 24 * 60 * 60
)

func defaultPodCertificate(r *certificatesv1.PodCertificateRequest) {
	pointDefault(&r.Spec.MaxExpirationSeconds, defaultPodCertificateSeconds)
}

func validatePodCertificate(r *certificatesv1.PodCertificateRequest) field.ErrorList {
	spec, p := &r.Spec, field.NewPath("spec")
	errs := validateSignerName(p.Child("signerName"), spec.SignerName)
	for _, name := range []struct{ field, value string }{
		{"podName", spec.PodName},
		{"serviceAccountName", spec.ServiceAccountName},
		{"nodeName", string(spec.NodeName)},
	} {
		errs = append(errs, requiredOr(p.Child(name.field), name.value, isDNSSubdomain)...)
	}
	for _, uid := range []struct{ field, value string }{
		{"podUID", string(spec.PodUID)},
		{"serviceAccountUID", string(spec.ServiceAccountUID)},
		{"nodeUID", string(spec.NodeUID)},
	} {
		errs = append(errs, requiredNonEmpty(p.Child(uid.field), uid.value)...)
	}
	switch s := spec.MaxExpirationSeconds; {
	case s == nil:
		errs = append(errs, field.Required(p.Child("maxExpirationSeconds"), "must be set"))
	case *s < minPodCertificateSeconds || *s > maxPodCertificateSeconds:
		errs = append(errs, field.Invalid(p.Child("maxExpirationSeconds"), *s, "must be in the range [3600, 7862400]"))
	}
	if len(spec.StubPKCS10Request) == 0 {
		errs = append(errs, field.Required(p.Child("stubPKCS10Request"), "must not be empty"))
	}
	return errs
}

func validatePodCertificateUpdate(r, old *certificatesv1.PodCertificateRequest) field.ErrorList {
	return immutable(field.NewPath("spec"), r.Spec, old.Spec)
}

func validatePodCertificateStatus(r, old *certificatesv1.PodCertificateRequest) field.ErrorList {
	p := field.NewPath("status")
	errs := metav1validation.ValidateConditions(r.Status.Conditions, p.Child("conditions"))
	if old.Status.CertificateChain != "" {
		errs = append(errs, immutable(p.Child("certificateChain"), r.Status.CertificateChain, old.Status.CertificateChain)...)
	}
	if r.Status.CertificateChain != "" {
		errs = append(errs, validateChain(p.Child("certificateChain"), []byte(r.Status.CertificateChain))...)
	}
	return errs
}

// mostCertificateSeconds is how long a signer's certificates may last: those of
// Kubernetes itself for a day.
func mostCertificateSeconds(signer string) int32 {
	if domain, _, _ := strings.Cut(signer, "/"); domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		return defaultPodCertificateSeconds
	}
	return maxPodCertificateSeconds
}

func decimal(n int32) string { return strconv.Itoa(int(n)) }
