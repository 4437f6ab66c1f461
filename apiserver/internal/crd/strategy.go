package crd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// strategy returns the strategy of this version's objects.
func (v *oneVersion) strategy() resources.Strategy {
	s := resources.Strategy{
		Default: func(obj runtime.Object) {
			if u, ok := obj.(*unstructured.Unstructured); ok {
				// A schema that does not compile fails the validation.
				_ = v.setDefaults(u)
			}
		},
		PrepareStatusUpdate:       onlyStatus,
		Generation:                true,
		ValidateCreate:            func(obj runtime.Object) field.ErrorList { return v.validate(obj, nil, objectCheck) },
		ValidateUpdate:            func(obj, old runtime.Object) field.ErrorList { return v.validate(obj, old, objectCheck) },
		ValidateStatusUpdate:      func(obj, old runtime.Object) field.ErrorList { return v.validate(obj, old, statusCheck) },
		Warnings:                  finalizerWarnings,
		ForbidUnconditionalUpdate: true,
	}
	if v.hasStatus() {
		s.PrepareCreate = func(obj runtime.Object) { delete(content(obj), "status") }
		s.PrepareUpdate = keepStatus
	}
	return s
}

func (v *oneVersion) hasStatus() bool {
	return v.spec.Subresources != nil && v.spec.Subresources.Status != nil
}

func content(obj runtime.Object) map[string]any { return obj.(*unstructured.Unstructured).Object }

// keepStatus restores the status in an update of the object.
func keepStatus(obj, old runtime.Object) {
	status, found := content(old)["status"]
	if !found {
		delete(content(obj), "status")
		return
	}
	content(obj)["status"] = runtime.DeepCopyJSONValue(status)
}

// onlyStatus sets obj to the old object with the new status. Field ownership is tracked
// later.
func onlyStatus(obj, old runtime.Object) {
	u, o := obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured)
	status, found := u.Object["status"]
	managed := u.GetManagedFields()
	u.Object = o.DeepCopy().Object
	u.SetManagedFields(managed)
	if found {
		u.Object["status"] = status
	} else {
		delete(u.Object, "status")
	}
}

// check is the part of an object that is validated.
type check int

const (
	objectCheck check = iota
	statusCheck
)

// validate validates an object with its schema and rules. Values that an update does
// not change may remain invalid (KEP-4008).
func (v *oneVersion) validate(obj, old runtime.Object, what check) field.ErrorList {
	c, err := v.checks()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	u := content(obj)
	if err := c.checkPatterns(u, what); err != nil {
		return field.ErrorList{err}
	}
	var was map[string]any
	var correlated *common.CorrelatedObject
	if old != nil {
		was = content(old)
		correlated = common.NewCorrelatedObject(u, was, &model.Structural{Structural: c.structural})
	}
	errs := c.validateSchema(u, was, what, correlated)
	errs = append(errs, v.validateScale(u, what)...)
	if what == objectCheck {
		errs = append(errs, objectmeta.Validate(context.Background(), nil, u, c.structural, false)...)
	}
	errs = append(errs, c.validateLists(u, was)...)
	return append(errs, c.validateRules(u, was, errs, correlated)...)
}

// checkPatterns returns an error if matching the object, or its status, with the schema's
// patterns would take too long.
func (c *checks) checkPatterns(u map[string]any, what check) *field.Error {
	left := maxPatternSteps
	if what == objectCheck {
		return c.patterns.check(nil, u, &left)
	}
	if c.patterns == nil {
		return nil
	}
	return c.patterns.properties["status"].check(field.NewPath("status"), u["status"], &left)
}

func (c *checks) validateSchema(u, was map[string]any, what check, correlated *common.CorrelatedObject) field.ErrorList {
	if what == statusCheck {
		status, found := u["status"]
		if !found || c.status == nil {
			return nil
		}
		var opts []schemavalidation.ValidationOption
		if c.structural != nil {
			opts = append(opts, schemavalidation.WithRatcheting(correlated.Key("status")))
		}
		return schemavalidation.ValidateCustomResourceUpdate(field.NewPath("status"), status, was["status"], c.status, opts...)
	}
	if was == nil {
		return schemavalidation.ValidateCustomResource(nil, u, c.object)
	}
	return schemavalidation.ValidateCustomResourceUpdate(nil, u, was, c.object, schemavalidation.WithRatcheting(correlated))
}

// validateLists validates lists that are sets or maps, unless they were invalid before.
func (c *checks) validateLists(u, was map[string]any) field.ErrorList {
	errs := listtype.ValidateListSetsAndMaps(nil, c.structural, u)
	if len(errs) > 0 && was != nil && len(listtype.ValidateListSetsAndMaps(nil, c.structural, was)) > 0 {
		return nil
	}
	return errs
}

func (c *checks) validateRules(u, was map[string]any, before field.ErrorList, correlated *common.CorrelatedObject) field.ErrorList {
	if c.rules == nil {
		return nil
	}
	if blocking(before) {
		return field.ErrorList{field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}
	}
	var opts []cel.Option
	// For the library, a nil old object means a create.
	var old any
	if was != nil {
		old = was
		opts = append(opts, cel.WithRatcheting(correlated))
	}
	errs, _ := c.rules.Validate(context.Background(), nil, c.structural, u, old, int64(celconfig.RuntimeCELCostBudget/c.costlier), opts...)
	return errs
}

// blocking reports whether the errors prevent evaluating the rules, which may rely on
// the types.
func blocking(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
		return false
	})
}

// finalizerWarnings returns warnings about new finalizers whose names may conflict with
// others.
func finalizerWarnings(obj, old runtime.Object) []string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	var known []string
	if old != nil {
		if o, err := meta.Accessor(old); err == nil {
			known = o.GetFinalizers()
		}
	}
	names := slices.Clone(m.GetFinalizers())
	slices.Sort(names)
	var texts []string
	for _, name := range slices.Compact(names) {
		if !slices.Contains(known, name) {
			texts = append(texts, finalizerWarning(name)...)
		}
	}
	return texts
}

func finalizerWarning(name string) []string {
	var texts []string
	for _, problem := range utilvalidation.IsQualifiedName(name) {
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: %s", name, problem))
	}
	switch name {
	case metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, string(corev1.FinalizerKubernetes):
		return texts
	}
	switch {
	case strings.Contains(name, "/"):
	case strings.Contains(name, "."):
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers", name))
	default:
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", name))
	}
	return texts
}
