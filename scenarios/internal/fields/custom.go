package fields

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definitions are the structural schemas of custom kinds.
type Definitions map[schema.GroupVersionKind]*structuralschema.Structural

// Add adds the versions of a CustomResourceDefinition. An object of another kind, and a
// schema that is not structural, is passed over: the API server refuses the latter.
func (d Definitions) Add(object *unstructured.Unstructured) {
	if object.GroupVersionKind() != apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
		return
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
		return
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		var internal apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
			continue
		}
		if structural, err := structuralschema.NewStructural(&internal); err == nil {
			d[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}] = structural
		}
	}
}

func checkCustom(object *unstructured.Unstructured, s *structuralschema.Structural) []Problem {
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	var problems []Problem
	for _, path := range pruning.PruneWithOptions(object.DeepCopy().Object, s, true, options) {
		problems = append(problems, unknown(path, propertiesAt(s, path)))
	}
	return problems
}

// propertiesAt returns the names of the properties beside path.
func propertiesAt(s *structuralschema.Structural, path string) []string {
	parts := strings.Split(path, ".")
	for _, part := range parts[:len(parts)-1] {
		name, indices, _ := strings.Cut(part, "[")
		if s = property(s, name); s == nil {
			return nil
		}
		for range strings.Count(indices, "]") {
			if s = s.Items; s == nil {
				return nil
			}
		}
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// property returns the schema of a property, or of a map's values; nil if there is none.
func property(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if p, known := s.Properties[name]; known {
		return &p
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}
