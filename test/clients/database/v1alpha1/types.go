// Package v1alpha1 has the first version of Databases, which is still served.
package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	v1 "minikcm.dev/minikcm/test/clients/database/v1"
)

// GroupVersion is the group and version of the package's kinds.
var GroupVersion = schema.GroupVersion{Group: v1.GroupVersion.Group, Version: "v1alpha1"}

// Database is a Database whose size is a number of gibibytes.
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec      `json:"spec"`
	Status v1.DatabaseStatus `json:"status,omitempty"`
}

// DatabaseSpec is the desired state of a Database.
type DatabaseSpec struct {
	Engine  string `json:"engine,omitempty"`
	SizeGiB int64  `json:"sizeGiB"`
}

// ConvertTo converts the Database to v1.
func (d *Database) ConvertTo(hub conversion.Hub) error {
	out := hub.(*v1.Database)
	size, err := resource.ParseQuantity(fmt.Sprintf("%dGi", d.Spec.SizeGiB))
	if err != nil {
		return fmt.Errorf("size of %d GiB: %w", d.Spec.SizeGiB, err)
	}
	out.ObjectMeta, out.Status = d.ObjectMeta, d.Status
	out.Spec = v1.DatabaseSpec{Engine: d.Spec.Engine, Size: size}
	return nil
}

// ConvertFrom converts the Database from v1; it rounds the size up.
func (d *Database) ConvertFrom(hub conversion.Hub) error {
	in := hub.(*v1.Database)
	d.ObjectMeta, d.Status = in.ObjectMeta, in.Status
	d.Spec = DatabaseSpec{Engine: in.Spec.Engine, SizeGiB: (in.Spec.Size.Value() + 1<<30 - 1) >> 30}
	return nil
}

// DeepCopyObject returns a copy.
func (d *Database) DeepCopyObject() runtime.Object {
	out := *d
	d.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// AddToScheme adds the package's kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Database{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
