package apiserver

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/admission"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/clock"
)

const (
	// generatedSuffix and maxNameBase limit generated names as upstream: at most 58
	// characters of the client's prefix and 5 random ones.
	generatedSuffix = 5
	maxNameBase     = 63 - generatedSuffix
	// nameTries is the number of attempts to find a generated name that is free
	// (KEP-4420).
	nameTries = 8
)

// now returns the cluster's time for object metadata, in whole seconds.
func (s *Server) now() metav1.Time { return secondsOf(s.opts.Clock) }

func secondsOf(c clock.Clock) metav1.Time {
	return metav1.NewTime(c.Now().Truncate(time.Second))
}

// generateName sets the name from generateName. Concurrent creates get the same set of
// names in every run with the same seed, but not necessarily in the same order.
func (s *Server) generateName(row *resources.Resource, m metav1.Object) {
	base := m.GetGenerateName()
	if len(base) > maxNameBase {
		base = base[:maxNameBase]
	}
	m.SetName(base + s.chance.For(row.Plural, m.GetNamespace(), base).Suffix(generatedSuffix))
}

// newUID returns the UID of a new object. The UIDs of objects with a TTL come from a
// generator per namespace instead of one per name, to save memory.
func (s *Server) newUID(row *resources.Resource, m metav1.Object) types.UID {
	if row.Strategy.TTL > 0 {
		return s.chance.For(row.Plural, m.GetNamespace()).UID()
	}
	return s.chance.For(row.Plural, m.GetNamespace(), m.GetName()).UID()
}

// prepareCreate sets the server's fields of a new object, in upstream's order:
// metadata, status, generation, then the kind's own preparation.
func (s *Server) prepareCreate(row *resources.Resource, obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetUID(s.newUID(row, m))
	m.SetCreationTimestamp(s.now())
	m.SetSelfLink("")
	m.SetGeneration(0)
	if row.Strategy.Generation {
		m.SetGeneration(1)
	}
	if row.Subresource("status") != nil && !row.Strategy.KeepStatusOnCreate {
		if status := structField(obj, "Status"); status.IsValid() {
			status.SetZero()
		}
	}
	if row.Strategy.PrepareCreate != nil {
		row.Strategy.PrepareCreate(obj)
	}
	return nil
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

// prepareUpdate restores what an update may not change, and raises the generation if
// the desired state differs. It does not modify old.
func (s *Server) prepareUpdate(row *resources.Resource, subresource string, obj, old runtime.Object) error {
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
		isolateStatus(row, obj, old)
		return nil
	case "":
		if row.Subresource("status") != nil {
			copyField(obj, old, "Status")
		}
		if row.Strategy.PrepareUpdate != nil {
			row.Strategy.PrepareUpdate(obj, old)
		}
	default:
		// The Update functions of other subresources do their own changes.
	}
	if row.Strategy.Generation && !sameDesiredState(obj, old) {
		m.SetGeneration(o.GetGeneration() + 1)
	}
	return nil
}

func keepSystemMetadata(m, o metav1.Object) {
	m.SetGeneration(o.GetGeneration())
	m.SetSelfLink("")
	// Metadata that a client omits and may not change is kept, the creation timestamp
	// in any case; validation rejects other changes.
	if m.GetUID() == "" {
		m.SetUID(o.GetUID())
	}
	m.SetCreationTimestamp(o.GetCreationTimestamp())
	if m.GetDeletionTimestamp() == nil {
		m.SetDeletionTimestamp(o.GetDeletionTimestamp())
	}
	if m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(o.GetDeletionGracePeriodSeconds())
	}
}

// isolateStatus limits a status update to the status and the metadata that the row
// allows.
func isolateStatus(row *resources.Resource, obj, old runtime.Object) {
	v := reflect.Indirect(reflect.ValueOf(obj))
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; {
		case name == "Status", name == "ObjectMeta", name == "TypeMeta", row.Custom:
		default:
			copyField(obj, old, name)
		}
	}
	if row.Strategy.PrepareStatusUpdate != nil {
		row.Strategy.PrepareStatusUpdate(obj, old)
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

// validateCreate checks a new object's metadata and content.
func validateCreate(row *resources.Resource, obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	errs := apivalidation.ValidateObjectMetaAccessor(m, row.Namespaced, nameCheck(row), field.NewPath("metadata"))
	errs = append(errs, validateFinalizers(row, m)...)
	if row.Strategy.Validate != nil {
		errs = append(errs, row.Strategy.Validate(obj)...)
	}
	if row.Strategy.ValidateCreate != nil {
		errs = append(errs, row.Strategy.ValidateCreate(obj)...)
	}
	return invalid(row, m.GetName(), errs)
}

// validateFinalizers checks that finalizers of most built-in kinds are known to
// Kubernetes or qualified with a domain.
func validateFinalizers(row *resources.Resource, m metav1.Object) field.ErrorList {
	if row.Custom || row.Strategy.AnyFinalizer {
		return nil
	}
	var errs field.ErrorList
	for i, name := range m.GetFinalizers() {
		switch {
		case strings.Contains(name, "/"), name == string(corev1.FinalizerKubernetes), name == metav1.FinalizerOrphanDependents, name == metav1.FinalizerDeleteDependents:
		default:
			errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

func nameCheck(row *resources.Resource) apivalidation.ValidateNameFunc {
	if row.Strategy.NameCheck != nil {
		return row.Strategy.NameCheck
	}
	return apivalidation.NameIsDNSSubdomain
}

// validateUpdate validates an update.
func (s *Server) validateUpdate(row *resources.Resource, subresource string, obj, old runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	o, err := meta.Accessor(old)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(m, o, field.NewPath("metadata"))
	errs = append(errs, apivalidation.ValidateObjectMetaAccessor(m, row.Namespaced, nameCheck(row), field.NewPath("metadata"))...)
	errs = append(errs, validateFinalizers(row, m)...)
	strategy := row.Strategy
	if subresource == "status" {
		if strategy.ValidateStatusUpdate != nil {
			errs = append(errs, strategy.ValidateStatusUpdate(obj, old)...)
		}
		if strategy.ValidateStatusUpdateAt != nil && len(errs) == 0 {
			errs = strategy.ValidateStatusUpdateAt(obj, old, s.opts.Clock.Now())
		}
		return invalid(row, m.GetName(), errs)
	}
	if strategy.Validate != nil {
		errs = append(errs, strategy.Validate(obj)...)
	}
	if strategy.ValidateUpdate != nil && (subresource == "" || row.Custom) {
		errs = append(errs, strategy.ValidateUpdate(obj, old)...)
	}
	return invalid(row, m.GetName(), errs)
}

func invalid(row *resources.Resource, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(row.GroupVersionKind.GroupKind(), name, distinct(errs))
}

// distinct removes duplicate errors: the validation of custom kinds also validates the
// metadata.
func distinct(errs field.ErrorList) field.ErrorList {
	seen := make(map[string]bool, len(errs))
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		text := err.Error()
		known := seen[text]
		seen[text] = true
		return known
	})
}

// attributes returns the attributes of a write for admission plugins.
func (rq *request) attributes(op admission.Operation, obj, old runtime.Object, dryRun bool) *admission.Attributes {
	return &admission.Attributes{
		Operation: op, Resource: rq.row, Subresource: rq.Subresource, Namespace: rq.Namespace, Name: rq.Name,
		User: rq.user, DryRun: dryRun, Object: obj, Old: old,
		Warn: func(text string) { response.Warn(rq.w, text) },
	}
}

// warn sends the kind's warnings about a new or changed object. Components in the
// process do not read warnings.
func (rq *request) warn(obj, old runtime.Object) {
	if rq.row.Strategy.Warnings == nil || rq.isComponent() || rq.sub != nil {
		return
	}
	for _, text := range rq.row.Strategy.Warnings(obj, old) {
		response.Warn(rq.w, text)
	}
}

// applyDefaults sets the defaults of fields that the client omitted.
func applyDefaults(row *resources.Resource, obj runtime.Object) {
	if row.Strategy.Default != nil {
		row.Strategy.Default(obj)
	}
}

// admitCreate runs a new object through admission, preparation and validation.
func (rq *request) admitCreate(ctx context.Context, obj runtime.Object, dryRun bool) error {
	s := rq.server
	attributes := rq.attributes(admission.Create, obj, nil, dryRun)
	if err := s.admission.Mutate(ctx, attributes); err != nil {
		return err
	}
	if err := s.prepareCreate(rq.row, obj); err != nil {
		return err
	}
	if err := validateCreate(rq.row, obj); err != nil {
		return err
	}
	rq.warn(obj, nil)
	return s.admission.Check(ctx, attributes)
}
