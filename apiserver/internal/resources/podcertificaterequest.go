package resources

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
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
		NoNamespaceField: true,
		Field:            fieldOf(podCertificateField),
		Strategy: Strategy{
			StatusKeeps:               allMetadata,
			Default:                   on(defaultPodCertificate),
			ValidateCreate:            check(validation.PodCertificateRequest),
			ValidateUpdate:            checkUpdate(validation.PodCertificateRequestUpdate),
			ValidateStatusUpdate:      checkUpdate(validation.PodCertificateRequestStatus),
			ValidateStatusUpdateAt:    validation.PodCertificateRequestTime,
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

func defaultPodCertificate(r *certificatesv1.PodCertificateRequest) {
	pointDefault(&r.Spec.MaxExpirationSeconds, validation.DefaultPodCertificateSeconds)
}
