package resources

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Resource is one row of the table. A nil func or empty field means the default
// that its comment gives.
type Resource struct {
	schema.GroupVersionKind

	// Plural is the name in the URL: "pods".
	Plural string
	// Singular defaults to the lower-case kind.
	Singular string
	// ListKind defaults to Kind + "List".
	ListKind   string
	ShortNames []string
	Categories []string
	Namespaced bool
	// Verbs defaults to all eight.
	Verbs []string

	// StoragePrefix is the path beneath /registry/ that upstream's apiserver keeps
	// the objects under, such as "services/specs"; it defaults to Plural.
	StoragePrefix string
	// StoredVersion is the version that upstream still keeps objects as, so that the
	// release before can read them; empty is Version. Version's protobuf must be a
	// part of that version's.
	StoredVersion string
	// Stored is the form that objects are kept in; nil is protobuf, and JSON for a
	// custom kind.
	Stored *StoredForm
	// Storage converts between this version and the one that is stored, when
	// another row stores this kind (events.k8s.io/v1 over v1).
	Storage *StorageConversion
	// Computed says that nothing is stored: objects are made when they are asked for.
	Computed bool
	// Via says that nothing is stored under this resource: to create one is to
	// create the subresource of another row's object of the same name ("bindings"
	// is "pods/binding").
	Via *Via
	// Asked says that nothing is stored under this resource: to create one is to ask a
	// question, whose answer comes back in it (the reviews). The handlers know the
	// kind; NewList is nil.
	Asked bool

	New     func() runtime.Object
	NewList func() runtime.Object

	// Custom says that the kind came from a CustomResourceDefinition: it has no Go
	// type, its objects are *unstructured.Unstructured that carry their TypeMeta, and
	// it speaks neither protobuf nor strategic merge patches.
	Custom bool
	// Coerce gives an object that has just been read the shape that its schema asks
	// for, where no Go type does: it takes unknown fields out and returns their paths,
	// and refuses malformed metadata. What was stored is given the defaults of the version
	// that it was stored in, converted to the row's version, and never refused.
	Coerce func(obj runtime.Object, stored bool) (unknown []string, err error)
	// Convert makes an object of another version of a custom kind one of the row's version,
	// without the defaults of either: what a webhook sees that asked for this version.
	Convert func(obj runtime.Object) error
	// AsRead returns an object that has just been encoded as decoding its bytes would
	// return it: with the defaults that Coerce fills in. So the answer to a write and the
	// watch events are what a get returns, and nothing is decoded for it. It may share
	// memory with obj, whose own fields stay as they were encoded. Nil returns obj.
	AsRead func(obj runtime.Object) runtime.Object
	// Warning is sent with every answer (a deprecated version); empty for none.
	Warning string
	// FieldManager makes what tracks the owners of fields (KEP-555) for writes through
	// a subresource or, if that is empty, of the object itself. Nil means by the types
	// of k8s.io/api.
	FieldManager func(subresource string) (*managedfields.FieldManager, error)
	// Schema describes a kind without Go type for the OpenAPI documents, all but
	// its TypeMeta and metadata. It is nil for a kind that has no schema; v2 says that
	// the older form is wanted.
	Schema func(v2 bool) (*spec.Schema, error)

	Strategy Strategy

	// SelectableFields are the field labels beyond metadata.name and
	// metadata.namespace that a field selector may use. Fields, where it is not nil, are
	// their values, for kinds to which reading one by one with Field costs more.
	SelectableFields []string
	Fields           func(obj runtime.Object) fields.Set
	// Field is one of the selectable fields, for those who need but one or two: it
	// allocates nothing for strings that the object holds. FieldsOf gives it the
	// form that a selector takes.
	Field func(obj runtime.Object, label string) string

	// Columns and Cells make the Table form; the default is name and age.
	Columns []metav1.TableColumnDefinition
	Cells   func(obj runtime.Object, now time.Time) []any

	Subresources []Subresource
}

// StorageConversion names the row that stores a kind and converts to and from it.
// The functions may share memory with their argument.
type StorageConversion struct {
	Resource schema.GroupVersionResource
	To       func(obj runtime.Object) runtime.Object
	From     func(stored runtime.Object) runtime.Object
	// FieldLabels gives for each field label of this version the one of the stored
	// version; others are the same in both.
	FieldLabels map[string]string
}

// StoredForm turns objects into the bytes that are kept of them, and back.
type StoredForm struct {
	Encode func(obj runtime.Object) ([]byte, error)
	// Decode may be nil: then stored objects are read as those of other rows.
	Decode func(data []byte, into runtime.Object) error
	// Lossy says that what is read back may differ from what was written.
	Lossy bool
}

// Via names a subresource of another row.
type Via struct {
	Resource    schema.GroupVersionResource
	Subresource string
}

// Strategy is what is particular to a kind when its objects are written. The
// object given is the request's own copy and may be changed; old must not be.
type Strategy struct {
	// Default fills in what the client left out, as upstream's defaults do.
	Default func(obj runtime.Object)
	// PrepareCreate and PrepareUpdate set the fields that are the server's.
	//
	// The generic code has by then done: object metadata; on create, cleared the
	// field Status of rows that have a status subresource, and set generation to 1
	// if Generation is true; on update, put back the old Status; on a status
	// update, put back everything but Status and metadata; and after PrepareUpdate
	// raised the generation when Generation is true and Spec changed.
	PrepareCreate func(obj runtime.Object)
	PrepareUpdate func(obj, old runtime.Object)
	// PrepareStatusUpdate is called in place of PrepareUpdate for the status
	// subresource, after the generic isolation.
	PrepareStatusUpdate func(obj, old runtime.Object)
	// Generation says that metadata.generation counts the changes of Spec.
	Generation bool
	// KeepStatusOnCreate says that a created object keeps the status it came with.
	KeepStatusOnCreate bool

	// Validate checks an object on create, and ValidateUpdate one on update
	// (immutability; the generic code also calls Validate on update). Object metadata
	// is checked generically, with NameCheck (default: a DNS subdomain).
	// ValidateCreate checks what only new objects have to meet.
	Validate             func(obj runtime.Object) field.ErrorList
	ValidateCreate       func(obj runtime.Object) field.ErrorList
	ValidateUpdate       func(obj, old runtime.Object) field.ErrorList
	ValidateStatusUpdate func(obj, old runtime.Object) field.ErrorList
	// ValidateStatusUpdateAt checks what has to do with the time, if nothing else is wrong.
	ValidateStatusUpdateAt func(obj, old runtime.Object, now time.Time) field.ErrorList
	NameCheck              func(name string, prefix bool) []string
	// NotOwned are the fields, as paths with dots, that nobody comes to own by a write
	// through a subresource ("": by one of the object itself), because it cannot set
	// them. Where it says nothing, that is the status, or the spec for the status's writes.
	NotOwned map[string][]string
	// AnyFinalizer says that finalizers need not be Kubernetes' own or be qualified.
	AnyFinalizer bool
	// Warnings are sent to the client beside a successful answer.
	// old is nil of an object that is new.
	Warnings func(obj, old runtime.Object) []string
	// DeleteWarning is sent with a deletion that does not say what is to become of the
	// object's dependents.
	DeleteWarning string

	// AllowCreateOnUpdate lets a PUT create the object (Lease, Endpoints, ...).
	AllowCreateOnUpdate bool
	// AllowUnconditionalUpdate lets an update come without resourceVersion.
	// Upstream allows it for nearly every kind, so the row says where it does not.
	ForbidUnconditionalUpdate bool
	// GracePeriod says for how many seconds a deletion stays pending, given what
	// the client asked for (nil: nothing); nil func or 0: the object goes at once.
	GracePeriod func(obj runtime.Object, asked *int64) int64
	// MarkDeleted changes an object whose deletion begins but must wait for
	// finalizers (a Namespace becomes Terminating).
	MarkDeleted func(obj runtime.Object)
	// Finalizing reports finalizers beyond metadata.finalizers (a Namespace's spec).
	Finalizing func(obj runtime.Object) bool
	// OrphanByDefault says that a delete without propagation policy orphans.
	OrphanByDefault bool
	// TTL is after how long a stored object vanishes; 0 is never (Event: 1 hour).
	TTL time.Duration
}

// Subresource is a path beneath an object. The generic code serves "status" by
// the strategy; for the others the funcs map between the parent and what is
// spoken there.
type Subresource struct {
	// Name is the path element: "status", "scale", "binding".
	Name string
	schema.GroupVersionKind
	Verbs []string
	New   func() runtime.Object
	// AlsoVersions are older versions of the kind, of the same form, that are taken too.
	AlsoVersions []schema.GroupVersion
	// Get makes the subresource's object from its parent.
	Get func(parent runtime.Object) (runtime.Object, error)
	// Update writes the subresource's object into its parent (a copy that may be
	// changed). For the verb create it does what the creation means, and the
	// answer is a Status (binding).
	Update func(parent, sub runtime.Object) error
	// UpdateAt is Update for a subresource that writes times. A row sets at most
	// one of the two; with neither, the subresource is handled outside the table.
	UpdateAt func(parent, sub runtime.Object, now time.Time) error
	// Replicas is the path of what a scale sets in its parent; nil is spec.replicas.
	Replicas []string
	// NamesParent says that what is created beneath an object has to name it.
	NamesParent bool
	// Delete says that to create this subresource is to delete its parent, with the
	// options that what is sent carries (eviction).
	Delete func(sub runtime.Object) *metav1.DeleteOptions
	// Proxied says that upstream serves the subresource by asking a node or a pod. The
	// handlers know it by name; no func of the row says anything about it.
	Proxied bool
	// Asked says that to create the subresource is to ask for something that comes back
	// in it (a token). The handlers know the kind.
	Asked bool
	// Budgeted says that Delete needs the consent of the PodDisruptionBudgets that
	// select the parent, a Pod.
	Budgeted bool
}

// Writes reports whether the subresource can be written into its parent.
func (s *Subresource) Writes() bool { return s.Update != nil || s.UpdateAt != nil }

// WriteInto writes sub into parent by whichever func the row has.
func (s *Subresource) WriteInto(parent, sub runtime.Object, now time.Time) error {
	if s.UpdateAt != nil {
		return s.UpdateAt(parent, sub, now)
	}
	return s.Update(parent, sub)
}

// GVR is the row's group, version and plural name.
func (r *Resource) GVR() schema.GroupVersionResource {
	return r.GroupVersion().WithResource(r.Plural)
}

// GroupResource is for error messages: "deployments.apps".
func (r *Resource) GroupResource() schema.GroupResource { return r.GVR().GroupResource() }

// GroupVersion is the row's group and version.
func (r *Resource) GroupVersion() schema.GroupVersion { return r.GroupVersionKind.GroupVersion() }

// Subresource returns the named subresource, or nil.
func (r *Resource) Subresource(name string) *Subresource {
	for i := range r.Subresources {
		if r.Subresources[i].Name == name {
			return &r.Subresources[i]
		}
	}
	return nil
}
