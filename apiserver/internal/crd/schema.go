package crd

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	openapiv2 "k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// lazyStructural returns a version's structural schema, built at the first call; nil
// for a version without a schema.
type lazyStructural func() (*structuralschema.Structural, error)

// checks are the validators of a version's objects.
type checks struct {
	structural *structuralschema.Structural
	// object and status are nil if there is nothing to validate.
	object, status validation.SchemaValidator
	rules          *cel.Validator
	// costlier divides the rules' budgets.
	costlier uint64
	// patterns are the patterns in the object's schema; nil for none.
	patterns *patterns
}

// internalSchema converts the version's schema for the libraries; nil if it has none.
func (v *oneVersion) internalSchema() (*apiextensions.JSONSchemaProps, error) {
	if v.spec.Schema == nil || v.spec.Schema.OpenAPIV3Schema == nil {
		return nil, nil
	}
	out := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.spec.Schema.DeepCopy(), out, nil); err != nil {
		return nil, fmt.Errorf("converting the schema of %v: %w", v.gvk(), err)
	}
	return out.OpenAPIV3Schema, nil
}

func (v *oneVersion) newStructural() (*structuralschema.Structural, error) {
	props, err := v.internalSchema()
	if err != nil || props == nil {
		return nil, err
	}
	s, err := structuralschema.NewStructural(props)
	if err != nil {
		if v.definition.Spec.PreserveUnknownFields {
			return nil, nil
		}
		return nil, fmt.Errorf("reading the schema of %v: %w", v.gvk(), err)
	}
	// The defaults are shared with the schema that s was made from.
	s = s.DeepCopy()
	if !v.definition.Spec.PreserveUnknownFields {
		if err := defaulting.PruneDefaults(s); err != nil {
			return nil, fmt.Errorf("pruning the defaults of %v: %w", v.gvk(), err)
		}
	}
	return s, nil
}

func (v *oneVersion) newChecks() (*checks, error) {
	structural, err := v.structural()
	if err != nil {
		return nil, err
	}
	props, err := v.internalSchema()
	if err != nil {
		return nil, err
	}
	c := &checks{structural: structural, costlier: costlier(structural), patterns: patternsOf(structural)}
	if c.object, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, fmt.Errorf("compiling the schema of %v: %w", v.gvk(), err)
	}
	if props != nil {
		if status, found := props.Properties["status"]; found {
			if c.status, _, err = validation.NewSchemaValidator(&status); err != nil {
				return nil, fmt.Errorf("compiling the schema of the status of %v: %w", v.gvk(), err)
			}
		}
	}
	c.rules = cel.NewValidator(structural, true, celconfig.PerCallLimit/c.costlier)
	return c, nil
}

// schema returns the version's schema for the OpenAPI documents.
func (v *oneVersion) schema(v2 bool) (*spec.Schema, error) {
	s, err := v.structural()
	if err != nil || s == nil {
		return nil, err
	}
	s = s.DeepCopy().Unfold()
	if v2 {
		if s.XPreserveUnknownFields || v.definition.Spec.PreserveUnknownFields {
			return nil, nil
		}
		s = openapiv2.ToStructuralOpenAPIV2(s)
	}
	return s.ToKubeOpenAPI(), nil
}
