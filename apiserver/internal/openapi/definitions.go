package openapi

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	apiextensionsopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/util/intstr"
	aggregatoropenapi "k8s.io/kube-aggregator/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// definitions holds schemas by model name ("io.k8s.api.core.v1.Pod"), each with the names of the schemas
// that it refers to. Schemas are added on demand.
type definitions struct {
	ref     common.ReferenceCallback
	markers *markers
	byName  map[string]common.OpenAPIDefinition
	// v2 reports that the models are for OpenAPI v2.
	v2 bool
	// lacks reports whether the emulated release does not have a field of a model, which has its name
	// without "io.k8s.".
	lacks func(model, field string) bool
}

// newDefinitions returns definitions with the models of apimachinery, apiextensions and apiregistration,
// whose libraries include generated schemas. ref makes the references to models. Fields that lacks names are
// left out.
func newDefinitions(ref common.ReferenceCallback, lacks func(model, field string) bool) *definitions {
	d := &definitions{ref: ref, markers: builtinMarkers(), byName: apiextensionsopenapi.GetOpenAPIDefinitions(ref), lacks: lacks}
	for name, definition := range aggregatoropenapi.GetOpenAPIDefinitions(ref) {
		if strings.HasPrefix(name, "io.k8s.kube-aggregator.") {
			d.byName[name] = definition
		}
	}
	d.byName[intstr.IntOrString{}.OpenAPIModelName()] = intOrString()
	for name, definition := range d.byName {
		maps.DeleteFunc(definition.Schema.Properties, func(field string, _ spec.Schema) bool { return d.isLacking(name, field) })
	}
	return d
}

// isLacking reports whether the emulated release does not have a field of a model.
func (d *definitions) isLacking(model, field string) bool {
	return d.lacks(strings.TrimPrefix(model, "io.k8s."), field)
}

// modelNamer is implemented by every API type with its own schema.
type modelNamer interface{ OpenAPIModelName() string }

var modelNamerType = reflect.TypeFor[modelNamer]()

// modelName returns the name of a struct type's schema; "" if it has none.
func modelName(t reflect.Type) string {
	if t.Kind() != reflect.Struct || !t.Implements(modelNamerType) {
		return ""
	}
	return reflect.Zero(t).Interface().(modelNamer).OpenAPIModelName()
}

// add adds the schemas of the type of obj, and of all types that it refers to.
func (d *definitions) add(obj any) error {
	if custom, ok := obj.(*customModel); ok {
		return d.addCustom(custom, d.v2)
	}
	t := reflect.TypeOf(obj)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return d.addType(t)
}

func (d *definitions) addType(t reflect.Type) error {
	name := modelName(t)
	if name == "" {
		return fmt.Errorf("type %v has no OpenAPI model name", t)
	}
	if _, ok := d.byName[name]; ok {
		return nil
	}
	// Register the name before building the fields: types may be recursive.
	d.byName[name] = common.OpenAPIDefinition{}
	b := &schemaBuilder{definitions: d, model: name, dependencies: map[string]bool{}}
	definition, err := b.build(t)
	if err != nil {
		return fmt.Errorf("schema of %v: %w", t, err)
	}
	d.byName[name] = definition
	return nil
}

// intOrString returns the definition of a number or string; OpenAPI v2 cannot express that and uses a
// format.
func intOrString() common.OpenAPIDefinition {
	description := "A number or a string. In JSON and YAML it is written as either; a string is often a percentage."
	v2 := common.OpenAPIDefinition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{
		Description: description,
		Type:        intstr.IntOrString{}.OpenAPISchemaType(),
		Format:      intstr.IntOrString{}.OpenAPISchemaFormat(),
	}}}
	v3 := common.OpenAPIDefinition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{
		Description: description,
		OneOf:       common.GenerateOpenAPIV3OneOfSchema(intstr.IntOrString{}.OpenAPIV3OneOfTypes()),
		Format:      intstr.IntOrString{}.OpenAPISchemaFormat(),
	}}}
	return common.EmbedOpenAPIDefinitionIntoV2Extension(v3, v2)
}
