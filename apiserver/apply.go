package apiserver

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// apply makes the merge of a server-side apply (KEP-555): what the client sends is
// all that it wants to own.
func (p patcher) apply(owner string, force bool) (func(runtime.Object) (runtime.Object, error), error) {
	applied, strict, err := p.appliedObject()
	if err != nil {
		return nil, err
	}
	if err := p.rq.strictness(strict, p.validation); err != nil {
		return nil, err
	}
	return func(current runtime.Object) (runtime.Object, error) {
		live := p.rq.row.New()
		if current != nil {
			live = current.DeepCopyObject()
		} else if version := applied.GetResourceVersion(); version != "" {
			return nil, apierrors.NewConflict(p.rq.groupResource(), p.rq.Name, errors.New("resourceVersion must be empty for an apply that creates the object"))
		}
		merged, err := p.rq.server.fields.apply(p.rq, live, applied.DeepCopy(), owner, force)
		if err != nil {
			return nil, applyError(err)
		}
		return merged, nil
	}, nil
}

// appliedObject reads the body. strict is what a strict reading of it objects to.
func (p patcher) appliedObject() (applied *unstructured.Unstructured, strict, err error) {
	kind := p.rq.row.GroupVersionKind
	content := map[string]any{}
	if strictErr := yaml.UnmarshalStrict(p.data, &content); strictErr != nil {
		content = map[string]any{}
		if err := yaml.Unmarshal(p.data, &content); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
		}
		strict = runtime.NewStrictDecodingError([]error{strictErr})
	}
	applied = &unstructured.Unstructured{Object: content}
	if applied.GroupVersionKind() != kind {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("the kind in the data (%s) does not match the expected kind (%s)", applied.GroupVersionKind(), kind))
	}
	if _, found, _ := unstructured.NestedFieldNoCopy(content, "metadata", "managedFields"); found {
		return nil, nil, apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	if _, isMap := content["metadata"].(map[string]any); content["metadata"] != nil && !isMap {
		return nil, nil, apierrors.NewBadRequest("metadata must be an object")
	}
	if err := p.rq.checkIdentity(applied); err != nil {
		return nil, nil, err
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(applied.DeepCopy().Object, p.rq.row.New(), true)
	if err != nil && !runtime.IsStrictDecodingError(err) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if err != nil && strict == nil {
		strict = err
	}
	return applied, strict, nil
}

// applyError keeps an API error (a conflict lists its fields) and makes the others
// the client's fault.
func applyError(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	return apierrors.NewBadRequest(err.Error())
}
