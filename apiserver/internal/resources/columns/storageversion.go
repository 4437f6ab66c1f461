package columns

import (
	"time"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
)

// StorageVersion is the Table of internal.apiserver.k8s.io/v1alpha1 StorageVersions.
func StorageVersion() Table {
	doc := apiserverinternalv1alpha1.StorageVersionStatus{}.SwaggerDoc()
	return table(func(v *apiserverinternalv1alpha1.StorageVersion, now time.Time) []any {
		common := unset
		if version := v.Status.CommonEncodingVersion; version != nil {
			common = *version
		}
		servers := make([]string, len(v.Status.StorageVersions))
		for i := range v.Status.StorageVersions {
			server := &v.Status.StorageVersions[i]
			servers[i] = server.APIServerID + "=" + server.EncodingVersion
		}
		return []any{v.Name, common, shorten(servers, unset), age(v.CreationTimestamp, now)}
	},
		nameColumn(),
		text("CommonEncodingVersion", doc["commonEncodingVersion"]),
		text("StorageVersions", doc["storageVersions"]),
		ageColumn(),
	)
}
