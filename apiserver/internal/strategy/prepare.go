package strategy

import (
	"maps"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Create sets the server's fields of a new object, in upstream's order:
// metadata, status, generation, then the kind's own preparation.
func (p *Preparer) Create(row *resources.Resource, obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetUID(p.newUID(row, m))
	m.SetCreationTimestamp(p.Now())
	m.SetSelfLink("")
	if row.Strategy.Generation { // other kinds keep what a client sends
		m.SetGeneration(1)
	}
	if row.Subresource("status") != nil && !row.Strategy.KeepStatusOnCreate {
		if status := structField(obj, "Status"); status.IsValid() {
			status.SetZero()
		}
	}
	drop(row, obj, nil)
	if row.Strategy.PrepareCreate != nil {
		row.Strategy.PrepareCreate(obj)
	}
	return nil
}

// drop removes the fields of features that are off. old is nil for a new object.
func drop(row *resources.Resource, obj, old runtime.Object) {
	if row.Drop != nil {
		row.Drop(obj, old)
	}
}

// structField returns a field of the struct behind obj, or the zero Value if it has no
// such field.
func structField(obj runtime.Object, name string) reflect.Value {
	v := reflect.Indirect(reflect.ValueOf(obj))
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}

// copyField copies a field.
func copyField(to, from runtime.Object, name string) {
	if dst, src := structField(to, name), structField(from, name); dst.IsValid() && src.IsValid() {
		dst.Set(src)
	}
}

// Update restores the fields that an update may not change, and raises the generation if
// the desired state differs. subresource is the subresource that the update is made through.
// It does not modify old.
func (p *Preparer) Update(row *resources.Resource, subresource string, obj, old runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	o, err := meta.Accessor(old)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	keepSystemMetadata(m, o)
	switch subresource {
	case "status":
		keepMetadata(row.Strategy.StatusKeeps, m, o)
		p.isolateStatus(row, obj, old)
		return nil
	case "":
		if row.Subresource("status") != nil {
			copyField(obj, old, "Status")
		}
		drop(row, obj, old)
		if row.Strategy.PrepareUpdate != nil {
			row.Strategy.PrepareUpdate(obj, old)
		}
	default:
		// The Update functions of other subresources do their own changes.
		drop(row, obj, old)
	}
	if row.Strategy.Generation && !sameDesiredState(obj, old) {
		m.SetGeneration(o.GetGeneration() + 1)
	}
	return nil
}

func keepSystemMetadata(m, o metav1.Object) {
	m.SetGeneration(o.GetGeneration())
	m.SetSelfLink("")
	// Metadata that a client omits and may not change is kept, the timestamps in any case;
	// validation rejects other changes.
	if m.GetUID() == "" {
		m.SetUID(o.GetUID())
	}
	m.SetCreationTimestamp(o.GetCreationTimestamp())
	if o.GetDeletionTimestamp() != nil {
		m.SetDeletionTimestamp(o.GetDeletionTimestamp())
	}
	if m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(o.GetDeletionGracePeriodSeconds())
	}
}

// keepMetadata restores the metadata that a row's StatusKeeps names.
func keepMetadata(paths []string, m, o metav1.Object) {
	for _, path := range paths {
		all := path == "metadata"
		if all || path == "metadata.labels" {
			m.SetLabels(o.GetLabels())
		}
		if all || path == "metadata.annotations" {
			m.SetAnnotations(o.GetAnnotations())
		}
		if all || path == "metadata.finalizers" {
			m.SetFinalizers(o.GetFinalizers())
		}
		if all || path == "metadata.ownerReferences" {
			m.SetOwnerReferences(o.GetOwnerReferences())
		}
		if all || path == "metadata.deletionTimestamp" {
			m.SetDeletionTimestamp(o.GetDeletionTimestamp())
		}
	}
}

// isolateStatus limits a status update to the status and the metadata that the row
// allows.
func (p *Preparer) isolateStatus(row *resources.Resource, obj, old runtime.Object) {
	v := reflect.Indirect(reflect.ValueOf(obj))
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; {
		case name == "Status", name == "ObjectMeta", name == "TypeMeta", row.Custom:
		default:
			copyField(obj, old, name)
		}
	}
	drop(row, obj, old)
	if row.Strategy.PrepareStatusUpdate != nil {
		row.Strategy.PrepareStatusUpdate(obj, old)
	}
	if row.Strategy.PrepareStatusUpdateAt != nil {
		row.Strategy.PrepareStatusUpdateAt(obj, old, p.Now())
	}
}

// sameDesiredState compares everything except metadata and status. The generation
// counts such changes.
func sameDesiredState(obj, old runtime.Object) bool {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return sameButMetadata(u, old)
	}
	v, w := reflect.Indirect(reflect.ValueOf(obj)), reflect.Indirect(reflect.ValueOf(old))
	for i := range v.NumField() {
		switch v.Type().Field(i).Name {
		case "Status", "ObjectMeta", "TypeMeta":
		default:
			if !apiequality.Semantic.DeepEqual(v.Field(i).Interface(), w.Field(i).Interface()) {
				return false
			}
		}
	}
	return true
}

// sameButMetadata compares custom objects. At this point a status subresource has been
// restored; without one, the status is part of the desired state.
func sameButMetadata(u *unstructured.Unstructured, old runtime.Object) bool {
	o, ok := old.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	a, b := maps.Clone(u.Object), maps.Clone(o.Object)
	delete(a, "metadata")
	delete(b, "metadata")
	return apiequality.Semantic.DeepEqual(a, b)
}
