package crd

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// internal converts a definition to the form that the library validates.
func internal(obj runtime.Object) (*apiextensions.CustomResourceDefinition, field.ErrorList) {
	out := &apiextensions.CustomResourceDefinition{}
	// The conversion may share memory with its input.
	in := obj.(*apiextensionsv1.CustomResourceDefinition).DeepCopy()
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(in, out, nil); err != nil {
		return nil, field.ErrorList{field.InternalError(nil, fmt.Errorf("converting the definition: %w", err))}
	}
	return out, nil
}

func validateNew(obj runtime.Object) field.ErrorList {
	d, errs := internal(obj)
	if len(errs) > 0 {
		return errs
	}
	if errs := costlyPatterns(obj.(*apiextensionsv1.CustomResourceDefinition)); len(errs) > 0 {
		return errs
	}
	errs = schemasFirst(d, func(d *apiextensions.CustomResourceDefinition) field.ErrorList {
		return validation.ValidateCustomResourceDefinition(context.Background(), d)
	})
	if len(errs) > 0 {
		return errs
	}
	return unusable(obj.(*apiextensionsv1.CustomResourceDefinition))
}

// unusable returns errors for schemas that the library accepts but cannot use, such as
// items with a default at the root: every request for their objects would fail.
func unusable(d *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	kind := &kind{definition: d}
	for i := range d.Spec.Versions {
		v := &oneVersion{kind: kind, spec: &d.Spec.Versions[i]}
		if _, err := v.newStructural(); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema"), field.OmitValueType{}, err.Error()))
		}
	}
	return errs
}

// schemasFirst ignores selectable fields while there are other errors: the library
// looks them up in a schema that it assumes to be structural, and panics if there is
// none.
func schemasFirst(d *apiextensions.CustomResourceDefinition, validate func(*apiextensions.CustomResourceDefinition) field.ErrorList) (errs field.ErrorList) {
	// The library also panics on rules beneath items of a schema whose type is not array.
	defer func() {
		if reason := recover(); reason != nil {
			errs = field.ErrorList{field.Invalid(field.NewPath("spec", "versions"), field.OmitValueType{}, fmt.Sprintf("a schema is not structural, so that its x-kubernetes-validations cannot be compiled: %v", reason))}
		}
	}()
	selects := len(d.Spec.SelectableFields) > 0
	for i := range d.Spec.Versions {
		selects = selects || len(d.Spec.Versions[i].SelectableFields) > 0
	}
	if !selects {
		return validate(d)
	}
	without := d.DeepCopy()
	without.Spec.SelectableFields = nil
	for i := range without.Spec.Versions {
		without.Spec.Versions[i].SelectableFields = nil
	}
	if errs := validate(without); len(errs) > 0 {
		return errs
	}
	return validate(d)
}

// costlyPatterns returns errors for schemas whose patterns cost too much. It comes
// first, because the library matches the schemas' defaults.
func costlyPatterns(d *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	kind := &kind{definition: d}
	for i := range d.Spec.Versions {
		v := &oneVersion{kind: kind, spec: &d.Spec.Versions[i]}
		props, err := v.internalSchema()
		if err != nil || props == nil {
			continue
		}
		// The library reports schemas that are not structural.
		if s, err := structuralschema.NewStructural(props); err == nil {
			errs = append(errs, validatePatterns(field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema"), s)...)
		}
	}
	return errs
}

func validateChange(obj, old runtime.Object) field.ErrorList {
	if errs := costlyPatterns(obj.(*apiextensionsv1.CustomResourceDefinition)); len(errs) > 0 {
		return errs
	}
	errs := validatePair(obj, old, validation.ValidateCustomResourceDefinitionUpdate)
	d, was := obj.(*apiextensionsv1.CustomResourceDefinition), old.(*apiextensionsv1.CustomResourceDefinition)
	if len(errs) > 0 || apiequality.Semantic.DeepEqual(d.Spec.Versions, was.Spec.Versions) {
		return errs
	}
	return unusable(d)
}

func validateStatusChange(obj, old runtime.Object) field.ErrorList {
	return validatePair(obj, old, validation.ValidateUpdateCustomResourceDefinitionStatus)
}

type pairValidation func(ctx context.Context, obj, old *apiextensions.CustomResourceDefinition) field.ErrorList

func validatePair(obj, old runtime.Object, validate pairValidation) field.ErrorList {
	d, errs := internal(obj)
	o, oldErrs := internal(old)
	if errs = append(errs, oldErrs...); len(errs) > 0 {
		return errs
	}
	return schemasFirst(d, func(d *apiextensions.CustomResourceDefinition) field.ErrorList {
		return validate(context.Background(), d, o)
	})
}

// warnings returns warnings about accepted settings without the expected effect.
func warnings(obj, old runtime.Object) []string {
	texts := schemaWarnings(obj)
	if old == nil {
		return texts
	}
	known := schemaWarnings(old)
	return slices.DeleteFunc(texts, func(text string) bool { return slices.Contains(known, text) })
}

func schemaWarnings(obj runtime.Object) []string {
	d, errs := internal(obj)
	if len(errs) > 0 {
		return nil
	}
	var formats, sets []string
	look := func(s *apiextensions.JSONSchemaProps) bool {
		formats = append(formats, unknownFormats(s)...)
		if text := setWarning(s); text != "" {
			sets = append(sets, text)
		}
		return false
	}
	if d.Spec.Validation != nil {
		validation.SchemaHas(d.Spec.Validation.OpenAPIV3Schema, look)
	}
	for i := range d.Spec.Versions {
		if s := d.Spec.Versions[i].Schema; s != nil {
			validation.SchemaHas(s.OpenAPIV3Schema, look)
		}
	}
	slices.Sort(sets)
	return append(formats, slices.Compact(sets)...)
}

func unknownFormats(s *apiextensions.JSONSchemaProps) []string {
	if s.Format == "" {
		return nil
	}
	described := &spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}}
	var texts []string
	for _, format := range schemavalidation.GetUnrecognizedFormats(described, environment.DefaultCompatibilityVersion()) {
		texts = append(texts, fmt.Sprintf("unrecognized format %q", format))
	}
	return texts
}

func setWarning(s *apiextensions.JSONSchemaProps) string {
	if s.XListType == nil || *s.XListType != "set" || s.Items == nil || s.Items.Schema == nil {
		return ""
	}
	if t := s.Items.Schema.Type; t == "object" || t == "array" {
		return fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", t)
	}
	return ""
}
