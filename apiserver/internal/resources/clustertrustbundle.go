package resources

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func clusterTrustBundleRow() *Resource {
	return &Resource{
		GroupVersionKind: certificatesv1.SchemeGroupVersion.WithKind("ClusterTrustBundle"),
		StoredVersion:    "v1beta1",
		Plural:           "clustertrustbundles",
		New:              func() runtime.Object { return &certificatesv1.ClusterTrustBundle{} },
		NewList:          func() runtime.Object { return &certificatesv1.ClusterTrustBundleList{} },
		SelectableFields: []string{"spec.signerName"},
		Field:            fieldOf(trustBundleField),
		Strategy: Strategy{
			NameCheck:                 validation.ClusterTrustBundleName,
			Validate:                  check(validation.ClusterTrustBundle),
			ValidateUpdate:            checkUpdate(validation.ClusterTrustBundleUpdate),
			ForbidUnconditionalUpdate: true,
		},
	}
}

func trustBundleField(b *certificatesv1.ClusterTrustBundle, label string) string {
	if label == "spec.signerName" {
		return b.Spec.SignerName
	}
	return ""
}
