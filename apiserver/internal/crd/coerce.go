package crd

import (
	"fmt"
	"maps"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// coerce has the effect on a custom object that decoding into a Go type has on others: the
// metadata is well-formed, and unknown fields and forbidden nulls are removed. A stored
// object, which may follow an older schema, also gets the defaults of the version that it
// is stored in, and is then converted to this version, whose defaults it does not get
// (Kubernetes documentation, "CustomResourceDefinitions: Defaulting").
func (v *oneVersion) coerce(obj runtime.Object, stored bool) ([]string, error) {
	u, err := customObject(obj)
	if err != nil {
		return nil, err
	}
	if !stored {
		return v.shape(u, false)
	}
	was, err := v.storedVersion(u)
	if err != nil {
		return nil, err
	}
	if _, err := was.shape(u, true); err != nil {
		return nil, err
	}
	if u.GetGeneration() == 0 {
		// Very old objects have no generation.
		u.SetGeneration(1)
	}
	if err := was.setDefaults(u); err != nil || was == v {
		return nil, err
	}
	return nil, v.take(u)
}

func customObject(obj runtime.Object) (*unstructured.Unstructured, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("a %T is no custom object", obj)
	}
	return u, nil
}

// take converts an object of another version to this one, in place.
func (v *oneVersion) take(obj runtime.Object) error {
	u, err := customObject(obj)
	if err != nil {
		return err
	}
	to := v.gvk().GroupVersion()
	if v.webhook() {
		converted, err := v.call(u, to)
		if err != nil {
			return err
		}
		u.Object = converted.Object
	}
	u.SetAPIVersion(to.String())
	_, err = v.shape(u, true)
	return err
}

// storedVersion returns the version in which an object is stored, which may be an earlier
// storage version.
func (v *oneVersion) storedVersion(u *unstructured.Unstructured) (*oneVersion, error) {
	gv, err := schema.ParseGroupVersion(u.GetAPIVersion())
	if err != nil {
		return nil, fmt.Errorf("reading the version of a stored object: %w", err)
	}
	was := v.versions[gv.Version]
	if was == nil || gv.Group != v.definition.Spec.Group {
		return nil, conversionFailed(fmt.Errorf("request to convert CR from an invalid group/version: %s", u.GetAPIVersion()))
	}
	return was, nil
}

// shape prunes and coerces an object; if lenient, it drops values that it would otherwise
// reject.
func (v *oneVersion) shape(u *unstructured.Unstructured, lenient bool) ([]string, error) {
	s, err := v.structural()
	if err != nil {
		return nil, err
	}
	apiVersion, kind := u.GetAPIVersion(), u.GetKind()
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(u.Object, objectmeta.ObjectMetaOptions{
		DropMalformedFields: lenient, ReturnUnknownFieldPaths: !lenient,
	})
	if err != nil {
		return nil, err
	}
	if !v.definition.Spec.PreserveUnknownFields {
		opts := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: !lenient}
		unknown = append(unknown, pruning.PruneWithOptions(u.Object, s, true, opts)...)
		defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, s)
	}
	fieldErr, paths := objectmeta.CoerceWithOptions(nil, u.Object, s, false, objectmeta.CoerceOptions{
		DropInvalidFields: lenient, ReturnUnknownFieldPaths: !lenient,
	})
	if fieldErr != nil {
		return nil, fieldErr
	}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	if found {
		if err := objectmeta.SetObjectMeta(u.Object, meta); err != nil {
			return nil, err
		}
	}
	return append(unknown, paths...), nil
}

// setDefaults sets the defaults of the version's schema.
func (v *oneVersion) setDefaults(u *unstructured.Unstructured) error {
	s, err := v.structural()
	if err != nil || s == nil || !v.defaults() {
		return err
	}
	defaulting.Default(u.Object, s)
	return nil
}

// asRead returns an object of this version, which must be the stored one, with its
// defaults. A create drops the status after the request's defaults are set, so the stored
// object lacks the status's defaults, and every read sets them.
func (v *oneVersion) asRead(obj runtime.Object) runtime.Object {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || !v.defaults() {
		return obj
	}
	read := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	// A schema that does not compile has failed the validation.
	_ = v.setDefaults(read)
	return read
}

// newDefaults reports whether the schema has any defaults. Without them, setDefaults can
// be skipped.
func (v *oneVersion) newDefaults() bool {
	s, err := v.structural()
	return err == nil && hasDefaults(s)
}

func hasDefaults(s *structuralschema.Structural) bool {
	if s == nil {
		return false
	}
	if s.Default.Object != nil || hasDefaults(s.Items) || s.AdditionalProperties != nil && hasDefaults(s.AdditionalProperties.Structural) {
		return true
	}
	for _, property := range s.Properties {
		if hasDefaults(&property) {
			return true
		}
	}
	return false
}

// convert converts an object of another version to this one by the strategy None: it
// changes only the apiVersion, and drops fields that the schema does not have.
func (v *oneVersion) convert(obj runtime.Object) runtime.Object {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj
	}
	c := u.DeepCopy()
	c.SetAPIVersion(v.gvk().GroupVersion().String())
	// A schema that does not compile has failed the request before.
	_, _ = v.shape(c, true)
	return c
}
