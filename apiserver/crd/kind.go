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

	"minikcm.dev/minikcm/apiserver/resources"
)

// Kinds are the rows that a definition makes.
type Kinds struct {
	// Served has a row for each version that is served.
	Served []*resources.Resource
	// Stored is the row of the version that objects are stored in, which need not be
	// among the served ones.
	Stored *resources.Resource
}

// New makes the rows of a definition whose names are accepted. It does nothing that
// takes time: schemas are compiled at their first use. d must not change any more.
// Objects of a kind whose webhook cannot be called, webhooks being nil, are only to be
// had in the version that they are stored in.
//
// A row whose StoredForm is not nil is converted by a webhook when its objects are
// read or written: it needs storage.Objects of its own, on the keys of all.
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

// kind is a custom kind in all its versions.
type kind struct {
	definition *apiextensionsv1.CustomResourceDefinition
	versions   map[string]*oneVersion
	stored     *oneVersion
	converter  func() (managedfields.TypeConverter, error)
	webhooks   *Webhooks
	// converts calls the webhook of a kind that has one.
	converts func() (runtime.ObjectConvertor, error)
}

// oneVersion is a version of a custom kind.
type oneVersion struct {
	*kind
	spec       *apiextensionsv1.CustomResourceDefinitionVersion
	row        *resources.Resource
	structural lazyStructural
	// defaults reports whether the schema has any.
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

// allFields are the values of what can be selected by in any version: stored objects
// are selected by all of them.
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
		// Room for the name and the namespace.
		set := make(fields.Set, len(labels)+2)
		for _, label := range labels {
			set[label] = value(obj, label)
		}
		return set
	}
}

// deprecation is what users of a deprecated version are told.
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

// steps are the fields of a path such as ".spec.replicas".
func steps(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
