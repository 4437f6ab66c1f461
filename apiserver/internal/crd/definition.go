package crd

import (
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Kind is the kind of definitions.
var Kind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// Resource is the resource of definitions.
var Resource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// Row returns the row of definitions. scheme must have their kind. The row does not set
// names and conditions, which depend on other definitions (see Settle).
func Row(scheme *runtime.Scheme) *resources.Resource {
	newObject := func() runtime.Object { return &apiextensionsv1.CustomResourceDefinition{} }
	return &resources.Resource{
		GroupVersionKind: Kind,
		Plural:           Resource.Resource,
		ShortNames:       []string{"crd", "crds"},
		Categories:       []string{"api-extensions"},
		StoragePrefix:    Resource.Group + "/" + Resource.Resource,
		StoredVersion:    apiextensionsv1beta1.SchemeGroupVersion.Version,
		Stored:           &storedForm,
		New:              newObject,
		NewList:          func() runtime.Object { return &apiextensionsv1.CustomResourceDefinitionList{} },
		Strategy: resources.Strategy{
			AnyFinalizer: true,
			Reserve:      resources.Reservations.ReserveDefinition,
			Default: func(obj runtime.Object) {
				apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(obj.(*apiextensionsv1.CustomResourceDefinition))
			},
			PrepareCreate:             func(obj runtime.Object) { store(obj.(*apiextensionsv1.CustomResourceDefinition)) },
			PrepareUpdate:             func(obj, _ runtime.Object) { store(obj.(*apiextensionsv1.CustomResourceDefinition)) },
			Generation:                true,
			ValidateCreate:            validateNew,
			ValidateUpdate:            validateChange,
			ValidateStatusUpdate:      validateStatusChange,
			Warnings:                  warnings,
			ForbidUnconditionalUpdate: true,
			MarkDeleted:               markDeleted,
			Unmet:                     "precondition failed",
			NoDependents:              true,
		},
		Columns: definitionColumns,
		Cells:   definitionCells,
		Subresources: []resources.Subresource{
			{Name: "status", GroupVersionKind: Kind, Verbs: resources.StatusVerbs, New: newObject},
		},
		FieldManager: definitionManagers(scheme),
	}
}

// store adds the storage version to the stored versions.
func store(d *apiextensionsv1.CustomResourceDefinition) {
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Storage {
			for _, known := range d.Status.StoredVersions {
				if known == v.Name {
					return
				}
			}
			d.Status.StoredVersions = append(d.Status.StoredVersions[:len(d.Status.StoredVersions):len(d.Status.StoredVersions)], v.Name)
			return
		}
	}
}

// definitionManagers returns the field managers of definitions, with the types of
// apiextensions-apiserver.
func definitionManagers(scheme *runtime.Scheme) func(string) (*managedfields.FieldManager, error) {
	converter := sync.OnceValue(func() managedfields.TypeConverter { return applyconfiguration.NewTypeConverter(scheme) })
	lazily := func(subresource, reset string) func() (*managedfields.FieldManager, error) {
		return sync.OnceValues(func() (*managedfields.FieldManager, error) {
			return managedfields.NewDefaultFieldManager(converter(), scheme, scheme, scheme, Kind, Kind.GroupVersion(), subresource,
				resetting(Kind.GroupVersion(), reset))
		})
	}
	main, status := lazily("", "status"), lazily("status", "spec")
	return func(subresource string) (*managedfields.FieldManager, error) {
		if subresource == "status" {
			return status()
		}
		return main()
	}
}

// resetting returns the filter for fields that a write cannot set.
func resetting(gv schema.GroupVersion, names ...string) map[fieldpath.APIVersion]fieldpath.Filter {
	set := fieldpath.NewSet()
	for _, name := range names {
		set.Insert(fieldpath.MakePathOrDie(name))
	}
	return map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(gv.String()): fieldpath.NewExcludeSetFilter(set)}
}

var definitionColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: metaDoc["name"]},
	{Name: "Scope", Type: "string", Description: "Cluster/Namespaced"},
	{Name: "Versions", Type: "string", Description: "Served versions"},
	{Name: "Created At", Type: "date", Description: metaDoc["creationTimestamp"]},
	{Name: "Group", Type: "string", Priority: 1, Description: "API group"},
	{Name: "Kind", Type: "string", Priority: 1, Description: "CustomResource kind"},
	{Name: "ShortNames", Type: "string", Priority: 1, Description: "Short names"},
	{Name: "Established", Type: "boolean", Priority: 1, Description: "Established status"},
}

// metaDoc is the documentation of the fields of object metadata.
var metaDoc = metav1.ObjectMeta{}.SwaggerDoc()

func definitionCells(obj runtime.Object, _ time.Time) []any {
	d := obj.(*apiextensionsv1.CustomResourceDefinition)
	return []any{
		d.Name, string(d.Spec.Scope), servedVersions(d), d.CreationTimestamp.UTC().Format(time.RFC3339),
		d.Spec.Group, d.Spec.Names.Kind, joined(d.Spec.Names.ShortNames), isTrue(d, apiextensionsv1.Established),
	}
}
