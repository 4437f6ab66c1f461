package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Extensions in the schemas of custom kinds.
const (
	extPreserveUnknown  = "x-kubernetes-preserve-unknown-fields"
	extEmbeddedResource = "x-kubernetes-embedded-resource"
	extSelectableFields = "x-kubernetes-selectable-fields"
)

// customModel is the model of an object, or list of objects, of a kind without a Go
// type.
type customModel struct {
	row  *resources.Resource
	list bool
}

// OpenAPIModelName returns the name by which the builders look up the model.
func (m *customModel) OpenAPIModelName() string {
	name := m.row.Kind
	if m.list {
		name = m.row.ListKind
	}
	parts := strings.Split(m.row.Group, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".") + "." + m.row.Version + "." + name
}

// modelOf returns an empty object of the row's kind, or its customModel.
func modelOf(row *resources.Resource) any {
	if row.Custom {
		return &customModel{row: row}
	}
	return row.New()
}

func listModelOf(row *resources.Resource) any {
	if row.Custom {
		return &customModel{row: row, list: true}
	}
	return row.NewList()
}

func subModelOf(row *resources.Resource, sub *resources.Subresource) any {
	if row.Custom && sub.GroupVersionKind == row.GroupVersionKind {
		return modelOf(row)
	}
	return sub.New()
}

// isDescribed reports whether there is a schema for the row's kind.
func isDescribed(row *resources.Resource) bool { return row.Custom || described(row.New()) }

// customKinds adds the kinds of custom models.
func (s *source) customKinds(byName map[string][]any) {
	for _, row := range s.table.All() {
		if row.Custom {
			for _, m := range []*customModel{{row: row}, {row: row, list: true}} {
				byName[m.OpenAPIModelName()] = []any{m.kind()}
			}
		}
	}
}

func (m *customModel) kind() map[string]any {
	kind := m.row.Kind
	if m.list {
		kind = m.row.ListKind
	}
	return map[string]any{"group": m.row.Group, "version": m.row.Version, "kind": kind}
}

var (
	objectMetaName = metav1.ObjectMeta{}.OpenAPIModelName()
	listMetaName   = metav1.ListMeta{}.OpenAPIModelName()
	typeMetaName   = metav1.TypeMeta{}.OpenAPIModelName()
)

// addCustom adds the schemas of a custom model and, for a list, of its items.
func (d *definitions) addCustom(m *customModel, v2 bool) error {
	name := m.OpenAPIModelName()
	if _, known := d.byName[name]; known {
		return nil
	}
	if m.list {
		object := &customModel{row: m.row}
		if err := d.addCustom(object, v2); err != nil {
			return err
		}
		definition := d.listDefinition(m, object.OpenAPIModelName())
		addSelectable(&definition.Schema, m.row)
		d.byName[name] = definition
		return nil
	}
	schema, err := m.row.Schema(v2)
	if err != nil {
		return fmt.Errorf("schema of %v: %w", m.row.GroupVersionKind, err)
	}
	definition := common.OpenAPIDefinition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}}
	if schema != nil {
		d.complete(schema, v2)
		definition.Schema, definition.Dependencies = *schema, []string{objectMetaName}
	}
	addSelectable(&definition.Schema, m.row)
	d.byName[name] = definition
	return nil
}

// addSelectable adds the selectable fields of the objects (KEP-4358).
func addSelectable(schema *spec.Schema, row *resources.Resource) {
	if len(row.SelectableFields) == 0 {
		return
	}
	all := make([]any, len(row.SelectableFields))
	for i, path := range row.SelectableFields {
		all[i] = map[string]any{"fieldPath": path}
	}
	schema.AddExtension(extSelectableFields, all)
}

// complete adds the fields that all objects have to a custom schema: TypeMeta and metadata of
// the root and of embedded objects.
func (d *definitions) complete(schema *spec.Schema, v2 bool) {
	types := d.byName[typeMetaName].Schema.Properties
	schema.SetProperty("apiVersion", types["apiVersion"])
	schema.SetProperty("kind", types["kind"])
	schema.SetProperty("metadata", d.metadata())
	d.completeEmbedded(schema, v2)
}

func (d *definitions) metadata() spec.Schema {
	s := spec.Schema{SchemaProps: spec.SchemaProps{Description: metav1.PartialObjectMetadata{}.SwaggerDoc()["metadata"]}}
	s.Ref = d.ref(objectMetaName)
	return s
}

func (d *definitions) completeEmbedded(s *spec.Schema, v2 bool) {
	if s == nil {
		return
	}
	for name, property := range s.Properties {
		d.completeEmbedded(&property, v2)
		s.Properties[name] = property
	}
	if s.Items != nil {
		d.completeEmbedded(s.Items.Schema, v2)
	}
	if s.AdditionalProperties != nil {
		d.completeEmbedded(s.AdditionalProperties.Schema, v2)
	}
	if preserve, _ := s.Extensions.GetBool(extPreserveUnknown); preserve && v2 {
		// Clients of the older form reject unknown fields.
		return
	}
	if embedded, _ := s.Extensions.GetBool(extEmbeddedResource); !embedded {
		return
	}
	types := d.byName[typeMetaName].Schema.Properties
	for _, name := range []string{"kind", "apiVersion"} {
		s.SetProperty(name, types[name])
		if !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
	s.SetProperty("metadata", d.metadata())
}

func (d *definitions) listDefinition(m *customModel, object string) common.OpenAPIDefinition {
	types := d.byName[typeMetaName].Schema.Properties
	items := spec.ArrayProperty(&spec.Schema{SchemaProps: spec.SchemaProps{Ref: d.ref(object)}})
	items.Description = "List of " + m.row.Plural + ". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
	listMeta := spec.Schema{SchemaProps: spec.SchemaProps{Description: metav1.PartialObjectMetadataList{}.SwaggerDoc()["metadata"]}}
	listMeta.Ref = d.ref(listMetaName)
	schema := spec.Schema{SchemaProps: spec.SchemaProps{
		Description: m.row.ListKind + " is a list of " + m.row.Kind,
		Type:        []string{"object"},
		Required:    []string{"items"},
		Properties: map[string]spec.Schema{
			"apiVersion": types["apiVersion"], "kind": types["kind"], "metadata": listMeta, "items": *items,
		},
	}}
	return common.OpenAPIDefinition{Schema: schema, Dependencies: []string{object, listMetaName}}
}

// Models returns the schemas of custom kinds, and of the metadata that they refer to,
// in the form from which server-side apply gets the types of lists and maps.
func Models(rows []*resources.Resource) (map[string]*spec.Schema, error) {
	refs := refTo("#/components/schemas/")
	d := &definitions{ref: refs, byName: apiextensionsopenapi.GetOpenAPIDefinitions(refs)}
	known := slices.Collect(maps.Keys(d.byName))
	models := map[string]*spec.Schema{}
	for _, row := range rows {
		m := &customModel{row: row}
		if err := d.addCustom(m, false); err != nil {
			return nil, err
		}
		schema := d.byName[m.OpenAPIModelName()].Schema
		schema.AddExtension(extKind, []any{m.kind()})
		models[m.OpenAPIModelName()] = &schema
	}
	for _, name := range known {
		if strings.HasPrefix(name, metaModels) {
			schema := d.byName[name].Schema
			models[name] = &schema
		}
	}
	return models, nil
}

// metaModels is the prefix of the names of meta/v1's models.
const metaModels = "io.k8s.apimachinery.pkg.apis.meta.v1."
