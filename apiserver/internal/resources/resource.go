package resources

import (
	"context"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/releases"
)

// Resource is one row of the table. The comments of the fields give the defaults for nil
// functions and empty values.
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

	// StoragePrefix is the path beneath /registry/ under which upstream's apiserver stores
	// the objects, such as "services/specs"; it defaults to Plural.
	StoragePrefix string
	// StoredVersion is the version in which upstream stores objects, so that the previous
	// release can read them; empty means Version. The protobuf of Version must be a subset
	// of that version's.
	StoredVersion string
	// Stored is the encoding of stored objects; nil means protobuf, and JSON for a custom
	// kind.
	Stored *StoredForm
	// Storage converts between this version and the stored one, if another row stores this
	// kind (events.k8s.io/v1 over v1).
	Storage *StorageConversion
	// Unhooked reports that webhooks and admission policies do not see requests for the kind: one that
	// fails could otherwise cut the cluster off from its own authentication and authorization.
	Unhooked bool
	// Live reports that the objects show the state of this process (package live): requests for them are
	// neither recorded nor counted by the clock's ledger, and no fault affects them.
	Live bool
	// Get, List and Create serve their verbs in place of the generic code. Nothing is stored
	// under a resource that has one of them: its objects are computed for each request, or
	// a create is a query whose result is returned in the object, or creates something
	// else.
	Get, List, Create Handler
	// GetAny serves GET on every resource of the row's group and version, whatever its name:
	// metrics are named so.
	GetAny Handler

	New func() runtime.Object
	// NewList is nil for a kind that has no lists, and thus no Table form.
	NewList func() runtime.Object

	// Custom reports that the kind is defined by a CustomResourceDefinition: it has no Go
	// type, its objects are *unstructured.Unstructured with TypeMeta, and it supports
	// neither protobuf nor strategic merge patches.
	Custom bool
	// Coerce coerces an object that has just been decoded to its schema, for kinds without
	// a Go type: it removes unknown fields, returns their paths, and rejects malformed
	// metadata. A stored object gets the defaults of the version in which it is stored, is
	// converted to the row's version, and is never rejected.
	Coerce func(obj runtime.Object, stored bool) (unknown []string, err error)
	// Convert converts an object of another version of a custom kind to the row's version,
	// without the defaults of either: webhooks that match this version get the result.
	Convert func(obj runtime.Object) error
	// AsRead returns an object that has just been encoded as decoding its bytes would: with
	// the defaults that Coerce sets. The response to a write and the watch events thus
	// equal a later get, without decoding anything. The result may share memory with obj,
	// which is not modified. Nil means obj itself.
	AsRead func(obj runtime.Object) runtime.Object
	// Warning is sent with every response (for a deprecated version); empty means none.
	Warning string
	// Since is the minor release of Kubernetes from which on the kind is served in this form; 0: as its type
	// says, or always.
	Since releases.Minor
	// Hidden reports that clients do not find the kind, which the emulated release does not have. The parts
	// of the cluster use it all the same.
	Hidden bool
	// Adapt changes the row for the features that are on, where more than fields depends on them.
	Adapt func(row *Resource, gates featuregates.Gates)
	// Unknown removes the fields that the emulated release does not have from an object that has been
	// decoded, and returns their paths. Nil: there are none.
	Unknown func(obj runtime.Object) []string
	// Drop removes the fields of features that are off, unless old has fields of the same feature. old is
	// nil for a new object. Nil: there are none.
	Drop func(obj, old runtime.Object)
	// FieldManager returns the field manager (KEP-555) for writes through a subresource or,
	// if that is empty, of the object itself. Nil means a manager with the types of
	// k8s.io/api.
	FieldManager func(subresource string) (*managedfields.FieldManager, error)
	// Schema returns the schema of a kind without a Go type for the OpenAPI documents,
	// without TypeMeta and metadata. It returns nil for a kind without a schema; v2 selects
	// the form for OpenAPI v2.
	Schema func(v2 bool) (*spec.Schema, error)

	Strategy Strategy

	// SelectableFields are the field labels beyond metadata.name and metadata.namespace
	// that a field selector may use. Fields, if not nil, returns all their values, for
	// kinds where reading them one by one with Field is slower.
	SelectableFields []string
	// FieldAliases are labels that selectors of old clients use for selectable fields.
	FieldAliases map[string]string
	// NoNamespaceField reports that field selectors cannot use the namespace of a namespaced kind.
	NoNamespaceField bool
	Fields           func(obj runtime.Object) fields.Set
	// Field returns one selectable field: it allocates nothing for strings that the object
	// holds. FieldsOf adapts it to the interface of selectors.
	Field func(obj runtime.Object, label string) string
	// Packed, if not nil, makes the watch cache keep the objects encoded. It has all selectable fields,
	// including the fields of the metadata.
	Packed map[string]PackedField
	// UnknownField returns the message for a field label that is not selectable. Nil means
	// upstream's message for most kinds.
	UnknownField func(label string) string

	// Columns and Cells define the Table form; the default is name and age.
	Columns []metav1.TableColumnDefinition
	Cells   func(obj runtime.Object, now time.Time) []any
	// CellsOf returns Cells for the objects of a list, where they depend on each other; nil means Cells.
	CellsOf func(list []runtime.Object) func(obj runtime.Object, now time.Time) []any

	Subresources []Subresource
}

// StorageConversion names the row that stores a kind, and converts to and from it. The
// functions may share memory with their argument.
type StorageConversion struct {
	Resource schema.GroupVersionResource
	To       func(obj runtime.Object) runtime.Object
	From     func(stored runtime.Object) runtime.Object
	// FieldLabels maps field labels of this version to field labels of the stored version; the others are
	// the same in both.
	FieldLabels map[string]string
}

// StoredForm encodes objects for storing, and decodes them.
type StoredForm struct {
	// Encode returns JSON that ends with a newline. The storage adds a checksum.
	Encode func(obj runtime.Object) ([]byte, error)
	// Decode may be nil: then stored objects are decoded as in other rows.
	Decode func(data []byte, into runtime.Object) error
	// Lossy reports that the decoded object may differ from the encoded one.
	Lossy bool
}

// Strategy is the behavior of a kind when its objects are written. The functions may modify
// obj, which is the request's own copy, but not old.
type Strategy struct {
	// Default sets defaults of omitted fields, as upstream.
	Default func(obj runtime.Object)
	// PrepareCreate and PrepareUpdate set the fields that belong to the server.
	//
	// Before them, the generic code has prepared the object metadata; on create, it has
	// cleared the field Status of rows with a status subresource, and set the generation to
	// 1 if Generation is true; on update, it has restored the old Status; on a status
	// update, it has restored everything except Status and metadata. After PrepareUpdate,
	// it raises the generation if Generation is true and Spec has changed.
	PrepareCreate func(obj runtime.Object)
	PrepareUpdate func(obj, old runtime.Object)
	// PrepareStatusUpdate is called instead of PrepareUpdate for the status subresource,
	// after the generic isolation. PrepareStatusUpdateAt follows; it sets times.
	PrepareStatusUpdate   func(obj, old runtime.Object)
	PrepareStatusUpdateAt func(obj, old runtime.Object, now metav1.Time)
	// StatusKeeps is the metadata that a write of the status cannot change, as paths: "metadata" for all
	// of it, or "metadata.labels". A client that may write only the status can change the rest.
	StatusKeeps []string
	// Generation reports that metadata.generation counts the changes of Spec.
	Generation bool
	// KeepStatusOnCreate reports that a create keeps the client's status.
	KeepStatusOnCreate bool

	// Validate validates an object on create and update; ValidateUpdate validates the
	// changes of an update (immutability). Object metadata is validated generically, with
	// NameCheck (default: a DNS subdomain). ValidateCreate validates what applies to new
	// objects only.
	Validate             func(obj runtime.Object) field.ErrorList
	ValidateCreate       func(obj runtime.Object) field.ErrorList
	ValidateUpdate       func(obj, old runtime.Object) field.ErrorList
	ValidateStatusUpdate func(obj, old runtime.Object) field.ErrorList
	// ValidateStatusUpdateAt validates what depends on the time, if there are no other
	// errors.
	ValidateStatusUpdateAt func(obj, old runtime.Object, now time.Time) field.ErrorList
	NameCheck              func(name string, prefix bool) []string
	// NotOwned are the fields, as paths with dots, whose ownership a write through a
	// subresource ("": of the object itself) does not record, because it cannot set them.
	// The default is the status, or the spec and StatusKeeps for writes of the status.
	NotOwned map[string][]string
	// AnyFinalizer reports that finalizers need not be known to Kubernetes or qualified.
	AnyFinalizer bool
	// Warnings returns the warnings to send with a successful response. old is nil for a
	// new object.
	Warnings func(obj, old runtime.Object) []string
	// DeleteWarning is sent with a deletion without a propagation policy.
	DeleteWarning string

	// AllowCreateOnUpdate allows a PUT to create the object (Lease, Endpoints, ...).
	AllowCreateOnUpdate bool
	// ForbidUnconditionalUpdate rejects an update without a resourceVersion. Upstream
	// allows it for nearly every kind.
	ForbidUnconditionalUpdate bool
	// GracePeriod returns the grace period of a deletion, in seconds, given the client's
	// request (nil: none). With 0, the object is marked and deleted at once; with a nil function, it
	// is deleted without being marked.
	GracePeriod func(obj runtime.Object, asked *int64) int64
	// MarkDeleted changes an object, which has got a deletion timestamp, at its first delete, which
	// never deletes it (a Namespace becomes Terminating).
	MarkDeleted func(obj runtime.Object)
	// Unmet begins the error text for an unmet precondition of a delete, in upstream's other words for some
	// kinds.
	Unmet string
	// Finalizing reports finalizers beyond metadata.finalizers (a Namespace's spec).
	Finalizing func(obj runtime.Object) bool
	// OrphanByDefault reports that a delete without a propagation policy orphans
	// dependents; NoDependents that nothing depends on the objects, so that the policy is ignored.
	OrphanByDefault, NoDependents bool
	// ReturnDeleted reports that the response to a delete is the deleted object, not a Status.
	ReturnDeleted bool
	// TTL is how long after its last write a stored object expires; 0 means never (Event: 1
	// hour).
	TTL time.Duration
	// Reserve reserves the unique resources that a write needs, as storage.Reserve
	// describes. Nil means that it needs none.
	Reserve func(r Reservations, ctx context.Context, obj, old runtime.Object, dryRun bool) (done func(err error), err error)
	// ServerManager is the field manager of the objects that the apiserver itself creates;
	// empty means "kube-apiserver".
	ServerManager string
}

// allMetadata is the StatusKeeps of a kind whose status is all that a write of the status changes.
var allMetadata = []string{"metadata"}

// Subresource is a path beneath an object. The generic code serves "status" by the
// strategy; for others the functions convert between the parent and the subresource's
// object.
type Subresource struct {
	// Name is the path element: "status", "scale", "binding".
	Name string
	schema.GroupVersionKind
	Verbs []string
	New   func() runtime.Object
	// Default sets the defaults of the body of a create that is only answered.
	Default func(sub runtime.Object)
	// Since is the minor release of Kubernetes from which on it is served; 0: always.
	Since releases.Minor
	// AlsoVersions are older versions of the kind with the same fields, which are also
	// accepted.
	AlsoVersions []schema.GroupVersion
	// Get returns the subresource's object for its parent.
	Get func(parent runtime.Object) (runtime.Object, error)
	// GetForUpdate is Get for the object that an update starts from; nil: Get.
	GetForUpdate func(parent runtime.Object) (runtime.Object, error)
	// Update writes the subresource's object into its parent (a copy that it may modify).
	// For the verb create it performs the action, and the response is a Status (binding).
	Update func(parent, sub runtime.Object) error
	// UpdateAt is Update for a subresource that writes times. A row sets at most one of the
	// two; without either, the subresource is handled outside the table.
	UpdateAt func(parent, sub runtime.Object, now time.Time) error
	// Replaces reports that Update or UpdateAt sets fields of the parent and leaves what is behind their
	// pointers, maps and slices as it is: the parent then shares that with the stored object.
	Replaces bool
	// Replicas is the path of the field that a scale sets in its parent. It is nil for
	// subresources that are not scales.
	Replicas []string
	// Columns and Cells define the Table form; the default is the row's.
	Columns []metav1.TableColumnDefinition
	Cells   func(obj runtime.Object, now time.Time) []any
	// NoTable reports that the subresource has no Table form.
	NoTable bool
	// NamesParent reports that the body of a create must have the parent's name.
	NamesParent bool
	// Delete reports that creating this subresource deletes its parent; it returns the
	// delete options in the body (eviction).
	Delete func(sub runtime.Object) *metav1.DeleteOptions
	// BeforeDelete is called before Delete's deletion of the parent, which its error
	// prevents.
	BeforeDelete func(ctx context.Context, rq Request, dryRun bool) error
	// Create serves a create in place of the generic code.
	Create Handler
	// Connect serves all verbs in place of the generic code. Upstream passes these requests
	// on to a kubelet or a pod, which chooses the format of the response.
	Connect Handler
	// Produces are media types that Connect writes whatever the format that it negotiates, as upstream's
	// do; nil: it does not negotiate.
	Produces []string
	// AnyMethod reports that Connect accepts every HTTP method, not only the methods of Verbs.
	AnyMethod bool
	// Streams reports that Connect exchanges data with the client until one of them closes
	// the connection. Follows reports the same of a request with the given query.
	Streams bool
	Follows func(query url.Values) bool
}

// Writes reports whether the subresource can be written into its parent.
func (s *Subresource) Writes() bool { return s.Update != nil || s.UpdateAt != nil }

// WriteInto writes sub into parent with the row's function.
func (s *Subresource) WriteInto(parent, sub runtime.Object, now time.Time) error {
	if s.UpdateAt != nil {
		return s.UpdateAt(parent, sub, now)
	}
	return s.Update(parent, sub)
}

// ForUpdate returns the object that an update of the subresource starts from.
func (s *Subresource) ForUpdate(parent runtime.Object) (runtime.Object, error) {
	if s.GetForUpdate != nil {
		return s.GetForUpdate(parent)
	}
	return s.Get(parent)
}

// IsStored reports whether objects of the row's kind are stored, by this row or by the row Storage.
func (r *Resource) IsStored() bool {
	return r.Get == nil && r.List == nil && r.Create == nil && r.GetAny == nil
}

// GVR returns the row's group, version and plural name.
func (r *Resource) GVR() schema.GroupVersionResource {
	return r.GroupVersion().WithResource(r.Plural)
}

// GroupResource returns the resource for error messages: "deployments.apps".
func (r *Resource) GroupResource() schema.GroupResource { return r.GVR().GroupResource() }

// GroupVersion returns the row's group and version.
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
