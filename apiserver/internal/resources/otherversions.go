package resources

import (
	"reflect"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/releases"
)

// otherVersion is a version of a kind that is off by default, or that only former releases have. It has the
// objects of another version, by the names of their fields.
type otherVersion struct {
	of        schema.GroupVersionKind
	version   string
	obj, list runtime.Object
	// since is the first release whose objects have the form of today's type; 0: all that have the version.
	since releases.Minor
}

// otherVersionsTable is in the order of the groups.
var otherVersionsTable = []otherVersion{
	{of: admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"), version: "v1beta1", obj: &admissionregistrationv1beta1.ValidatingAdmissionPolicy{}, list: &admissionregistrationv1beta1.ValidatingAdmissionPolicyList{}},
	{of: admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"), version: "v1beta1", obj: &admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding{}, list: &admissionregistrationv1beta1.ValidatingAdmissionPolicyBindingList{}},
	{of: admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"), version: "v1beta1", obj: &admissionregistrationv1beta1.MutatingAdmissionPolicy{}, list: &admissionregistrationv1beta1.MutatingAdmissionPolicyList{}},
	{of: admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding"), version: "v1beta1", obj: &admissionregistrationv1beta1.MutatingAdmissionPolicyBinding{}, list: &admissionregistrationv1beta1.MutatingAdmissionPolicyBindingList{}},
	{of: admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"), version: "v1alpha1", obj: &admissionregistrationv1alpha1.ValidatingAdmissionPolicy{}, list: &admissionregistrationv1alpha1.ValidatingAdmissionPolicyList{}},
	{of: admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"), version: "v1alpha1", obj: &admissionregistrationv1alpha1.ValidatingAdmissionPolicyBinding{}, list: &admissionregistrationv1alpha1.ValidatingAdmissionPolicyBindingList{}},
	{of: admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"), version: "v1alpha1", obj: &admissionregistrationv1alpha1.MutatingAdmissionPolicy{}, list: &admissionregistrationv1alpha1.MutatingAdmissionPolicyList{}},
	{of: admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding"), version: "v1alpha1", obj: &admissionregistrationv1alpha1.MutatingAdmissionPolicyBinding{}, list: &admissionregistrationv1alpha1.MutatingAdmissionPolicyBindingList{}},
	{of: certificatesv1.SchemeGroupVersion.WithKind("ClusterTrustBundle"), version: "v1beta1", obj: &certificatesv1beta1.ClusterTrustBundle{}, list: &certificatesv1beta1.ClusterTrustBundleList{}},
	{of: certificatesv1.SchemeGroupVersion.WithKind("ClusterTrustBundle"), version: "v1alpha1", obj: &certificatesv1alpha1.ClusterTrustBundle{}, list: &certificatesv1alpha1.ClusterTrustBundleList{}},
	{of: certificatesv1.SchemeGroupVersion.WithKind("PodCertificateRequest"), version: "v1beta1", obj: &certificatesv1beta1.PodCertificateRequest{}, list: &certificatesv1beta1.PodCertificateRequestList{}, since: 36},
	{of: flowcontrolv1.SchemeGroupVersion.WithKind("FlowSchema"), version: "v1beta3", obj: &flowcontrolv1beta3.FlowSchema{}, list: &flowcontrolv1beta3.FlowSchemaList{}},
	{of: flowcontrolv1.SchemeGroupVersion.WithKind("PriorityLevelConfiguration"), version: "v1beta3", obj: &flowcontrolv1beta3.PriorityLevelConfiguration{}, list: &flowcontrolv1beta3.PriorityLevelConfigurationList{}},
	{of: networkingv1.SchemeGroupVersion.WithKind("IPAddress"), version: "v1beta1", obj: &networkingv1beta1.IPAddress{}, list: &networkingv1beta1.IPAddressList{}},
	{of: networkingv1.SchemeGroupVersion.WithKind("ServiceCIDR"), version: "v1beta1", obj: &networkingv1beta1.ServiceCIDR{}, list: &networkingv1beta1.ServiceCIDRList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("DeviceClass"), version: "v1beta2", obj: &resourcev1beta2.DeviceClass{}, list: &resourcev1beta2.DeviceClassList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("DeviceTaintRule"), version: "v1beta2", obj: &resourcev1beta2.DeviceTaintRule{}, list: &resourcev1beta2.DeviceTaintRuleList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("ResourceClaim"), version: "v1beta2", obj: &resourcev1beta2.ResourceClaim{}, list: &resourcev1beta2.ResourceClaimList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate"), version: "v1beta2", obj: &resourcev1beta2.ResourceClaimTemplate{}, list: &resourcev1beta2.ResourceClaimTemplateList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"), version: "v1beta2", obj: &resourcev1beta2.ResourceSlice{}, list: &resourcev1beta2.ResourceSliceList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("DeviceClass"), version: "v1beta1", obj: &resourcev1beta1.DeviceClass{}, list: &resourcev1beta1.DeviceClassList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("ResourceClaim"), version: "v1beta1", obj: &resourcev1beta1.ResourceClaim{}, list: &resourcev1beta1.ResourceClaimList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate"), version: "v1beta1", obj: &resourcev1beta1.ResourceClaimTemplate{}, list: &resourcev1beta1.ResourceClaimTemplateList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"), version: "v1beta1", obj: &resourcev1beta1.ResourceSlice{}, list: &resourcev1beta1.ResourceSliceList{}},
	{of: resourcev1.SchemeGroupVersion.WithKind("DeviceTaintRule"), version: "v1alpha3", obj: &resourcev1alpha3.DeviceTaintRule{}, list: &resourcev1alpha3.DeviceTaintRuleList{}, since: 35},
	{of: storagev1.SchemeGroupVersion.WithKind("VolumeAttributesClass"), version: "v1beta1", obj: &storagev1beta1.VolumeAttributesClass{}, list: &storagev1beta1.VolumeAttributesClassList{}},
	{of: storagev1.SchemeGroupVersion.WithKind("VolumeAttributesClass"), version: "v1alpha1", obj: &storagev1alpha1.VolumeAttributesClass{}, list: &storagev1alpha1.VolumeAttributesClassList{}},
	{of: storagemigrationv1.SchemeGroupVersion.WithKind("StorageVersionMigration"), version: "v1beta1", obj: &storagemigrationv1beta1.StorageVersionMigration{}, list: &storagemigrationv1beta1.StorageVersionMigrationList{}},
}

// otherVersions returns the rows of the other versions of kinds among rows.
func otherVersions(rows []*Resource) []*Resource {
	byKind := make(map[schema.GroupVersionKind]*Resource, len(rows))
	for _, row := range rows {
		byKind[row.GroupVersionKind] = row
	}
	others := make([]*Resource, 0, len(otherVersionsTable))
	for i := range otherVersionsTable {
		others = append(others, otherVersionsTable[i].row(byKind[otherVersionsTable[i].of]))
	}
	return others
}

// row returns the row of the version: its strategy is the stored version's.
func (o *otherVersion) row(stored *Resource) *Resource {
	c := versionConverter{stored: stored, obj: reflect.TypeOf(o.obj).Elem()}
	row := &Resource{
		GroupVersionKind: schema.GroupVersionKind{Group: stored.Group, Version: o.version, Kind: stored.Kind},
		Plural:           stored.Plural, ShortNames: stored.ShortNames, Categories: stored.Categories, Namespaced: stored.Namespaced, Verbs: stored.Verbs,
		Since: o.since, StoragePrefix: stored.StoragePrefix,
		Storage: &StorageConversion{Resource: stored.GVR(), To: c.to, From: c.from},
		New:     func() runtime.Object { return reflect.New(c.obj).Interface().(runtime.Object) },
		NewList: func() runtime.Object { return reflect.New(reflect.TypeOf(o.list).Elem()).Interface().(runtime.Object) },

		Strategy:         c.strategy(&stored.Strategy),
		SelectableFields: stored.SelectableFields, UnknownField: stored.UnknownField,
	}
	if stored.Field != nil {
		row.Field = func(obj runtime.Object, label string) string { return stored.Field(c.to(obj), label) }
	}
	if row.Columns = stored.Columns; stored.Cells != nil {
		row.Cells = func(obj runtime.Object, now time.Time) []any { return stored.Cells(c.to(obj), now) }
	}
	for i := range stored.Subresources {
		sub := stored.Subresources[i]
		if sub.Name == "status" {
			added := statusOf(row.GroupVersionKind, row.New)
			added.Since = sub.Since
			row.Subresources = append(row.Subresources, added)
		}
	}
	return row
}
