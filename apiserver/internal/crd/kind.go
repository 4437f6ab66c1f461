package crd

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Kinds are the rows of a definition.
type Kinds struct {
	// Served has a row for each served version.
	Served []*resources.Resource
	// Stored is the row of the storage version, which need not be served.
	Stored *resources.Resource
}

// New returns the rows of a definition whose names are accepted. It is fast: schemas
// are compiled at their first use. The caller must not modify d afterwards. If webhooks
// is nil, objects of a kind with a conversion webhook are only available in the version
// in which they are stored.
//
// A row with a StoredForm is converted by a webhook when its objects are read or
// written: it needs its own storage.Objects, on the same keys as the other versions.
func New(d *apiextensionsv1.CustomResourceDefinition, webhooks *Webhooks) Kinds {
	k := &kind{definition: d, webhooks: webhooks, versions: map[string]*oneVersion{}}
	k.converter = sync.OnceValues(k.newTypeConverter)
	k.converts = sync.OnceValues(k.newWebhook)
	for i := range d.Spec.Versions {
		v := &oneVersion{kind: k, spec: &d.Spec.Versions[i]}
		v.structural = sync.OnceValues(v.newStructural)
		v.defaults = sync.OnceValue(v.newDefaults)
		v.checks = sync.OnceValues(v.newChecks)
		k.versions[v.spec.Name] = v
		if v.spec.Storage {
			k.stored = v
		}
	}
	var kinds Kinds
	for i := range d.Spec.Versions {
		v := k.versions[d.Spec.Versions[i].Name]
		if !v.spec.Served && !v.spec.Storage {
			continue
		}
		v.row = v.newRow()
		if v.spec.Served {
			kinds.Served = append(kinds.Served, v.row)
		}
	}
	kinds.Stored = k.stored.row
	return kinds
}

// kind is a custom kind with all its versions.
type kind struct {
	definition *apiextensionsv1.CustomResourceDefinition
	versions   map[string]*oneVersion
	stored     *oneVersion
	converter  func() (managedfields.TypeConverter, error)
	webhooks   *Webhooks
	// converts returns the converter that calls the kind's webhook, if it has one.
	converts func() (runtime.ObjectConvertor, error)
}

// oneVersion is one version of a custom kind.
type oneVersion struct {
	*kind
	spec       *apiextensionsv1.CustomResourceDefinitionVersion
	row        *resources.Resource
	structural lazyStructural
	// defaults reports whether the schema has any defaults.
	defaults func() bool
	checks   func() (*checks, error)
}

func (v *oneVersion) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: v.definition.Spec.Group, Version: v.spec.Name, Kind: v.definition.Status.AcceptedNames.Kind}
}

func (v *oneVersion) newObject() runtime.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v.gvk())
	return u
}

func (v *oneVersion) newRow() *resources.Resource {
	spec, names := &v.definition.Spec, &v.definition.Status.AcceptedNames
	columns, cells := printer(v.spec.AdditionalPrinterColumns)
	row := &resources.Resource{
		GroupVersionKind: v.gvk(),
		Plural:           names.Plural,
		Singular:         names.Singular,
		ListKind:         names.ListKind,
		ShortNames:       names.ShortNames,
		Categories:       names.Categories,
		Namespaced:       spec.Scope == apiextensionsv1.NamespaceScoped,
		StoragePrefix:    spec.Group + "/" + names.Plural,
		New:              v.newObject,
		NewList:          func() runtime.Object { return &unstructured.UnstructuredList{} },
		Custom:           true,
		Coerce:           v.coerce,
		Convert:          v.take,
		Warning:          v.deprecation(),
		Schema:           v.schema,
		FieldManager:     v.fieldManagers(),
		Strategy:         v.strategy(),
		Columns:          columns,
		Cells:            cells,
		Subresources:     v.subresources(),
	}
	row.SelectableFields, row.Field = selectable(v.spec.SelectableFields)
	if v.spec.Storage {
		row.Fields = v.allFields()
		row.AsRead = v.asRead
		return row
	}
	stored := schema.GroupVersionResource{Group: spec.Group, Version: v.stored.spec.Name, Resource: names.Plural}
	row.Storage = &resources.StorageConversion{
		Resource: stored,
		To:       func(obj runtime.Object) runtime.Object { return v.stored.convert(obj) },
		From:     v.convert,
	}
	if v.webhook() {
		same := func(obj runtime.Object) runtime.Object { return obj }
		row.Storage.To, row.Storage.From = same, same
		row.Stored, row.Fields = v.storedForm(), v.allFields()
	}
	return row
}

func (k *kind) webhook() bool {
	c := k.definition.Spec.Conversion
	return c != nil && c.Strategy == apiextensionsv1.WebhookConverter
}

// allFields returns the values of the selectable fields of all versions: stored objects
// are matched by all of them.
func (k *kind) allFields() func(runtime.Object) fields.Set {
	var all []apiextensionsv1.SelectableField
	for i := range k.definition.Spec.Versions {
		for _, f := range k.definition.Spec.Versions[i].SelectableFields {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	labels, value := selectable(all)
	return func(obj runtime.Object) fields.Set {
		// The storage adds the name and the namespace.
		set := make(fields.Set, len(labels)+2)
		for _, label := range labels {
			set[label] = value(obj, label)
		}
		return set
	}
}

// deprecation returns the warning for requests of a deprecated version.
func (v *oneVersion) deprecation() string {
	if !v.spec.Deprecated {
		return ""
	}
	if v.spec.DeprecationWarning != nil {
		return *v.spec.DeprecationWarning
	}
	spec := &v.definition.Spec
	text := fmt.Sprintf("%s/%s %s is deprecated", spec.Group, v.spec.Name, spec.Names.Kind)
	better := ""
	for i := range spec.Versions {
		other := &spec.Versions[i]
		if other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(v.spec.Name, other.Name) < 0 &&
			(better == "" || version.CompareKubeAwareVersionStrings(better, other.Name) < 0) {
			better = other.Name
		}
	}
	if better == "" {
		return text
	}
	return text + fmt.Sprintf("; use %s/%s %s", spec.Group, better, spec.Names.Kind)
}

// steps returns the fields of a path such as ".spec.replicas".
func steps(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
