package resources

import (
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

func storageVersionMigrationRow() *Resource {
	kind := storagemigrationv1.SchemeGroupVersion.WithKind("StorageVersionMigration")
	newMigration := func() runtime.Object { return &storagemigrationv1.StorageVersionMigration{} }
	return &Resource{
		GroupVersionKind: kind,
		StoredVersion:    "v1beta1",
		Plural:           "storageversionmigrations",
		New:              newMigration,
		NewList:          func() runtime.Object { return &storagemigrationv1.StorageVersionMigrationList{} },
		Strategy: Strategy{
			StatusKeeps:               allMetadata,
			Validate:                  check(validation.StorageVersionMigration),
			ValidateUpdate:            checkUpdate(validation.StorageVersionMigrationUpdate),
			ValidateStatusUpdate:      checkUpdate(validation.StorageVersionMigrationStatus),
			ForbidUnconditionalUpdate: true,
		},
		Subresources: []Subresource{statusOf(kind, newMigration)},
	}
}
