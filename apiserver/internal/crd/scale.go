package crd

import (
	"fmt"
	"math"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// subresources returns the subresources of the version.
func (v *oneVersion) subresources() []resources.Subresource {
	var all []resources.Subresource
	if v.hasStatus() {
		all = append(all, resources.Subresource{Name: "status", GroupVersionKind: v.gvk(), Verbs: resources.StatusVerbs, New: v.newObject})
	}
	if s := v.scale(); s != nil {
		columns, cells := resources.ScaleTable()
		all = append(all, resources.Subresource{
			Name:             "scale",
			GroupVersionKind: autoscalingv1.SchemeGroupVersion.WithKind("Scale"),
			Verbs:            resources.StatusVerbs,
			Columns:          columns,
			Cells:            cells,
			New:              func() runtime.Object { return &autoscalingv1.Scale{} },
			Get: func(parent runtime.Object) (runtime.Object, error) {
				scale, err := scaleOf(s, parent)
				if err == nil && scale.Spec.Replicas == noReplicas {
					err = apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.SpecReplicasPath))
				}
				return scale, err
			},
			GetForUpdate: func(parent runtime.Object) (runtime.Object, error) { return scaleOf(s, parent) },
			Update:       func(parent, sub runtime.Object) error { return rescale(s, parent, sub) },
			Replicas:     steps(s.SpecReplicasPath),
		})
	}
	return all
}

func (v *oneVersion) scale() *apiextensionsv1.CustomResourceSubresourceScale {
	if v.spec.Subresources == nil {
		return nil
	}
	return v.spec.Subresources.Scale
}

// noReplicas is the number of replicas in the scale of an object that has none.
const noReplicas = math.MinInt32

// scaleOf returns the scale of a custom object, by the paths in its definition.
func scaleOf(s *apiextensionsv1.CustomResourceSubresourceScale, parent runtime.Object) (*autoscalingv1.Scale, error) {
	u := parent.(*unstructured.Unstructured)
	wanted, found, err := unstructured.NestedInt64(u.Object, steps(s.SpecReplicasPath)...)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if !found {
		wanted = noReplicas
	}
	current, _, err := unstructured.NestedInt64(u.Object, steps(s.StatusReplicasPath)...)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	selector := ""
	if s.LabelSelectorPath != nil && *s.LabelSelectorPath != "" {
		if selector, _, err = unstructured.NestedString(u.Object, steps(*s.LabelSelectorPath)...); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(),
			ResourceVersion: u.GetResourceVersion(), CreationTimestamp: u.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},                        // validated when it was written
		Status: autoscalingv1.ScaleStatus{Replicas: int32(current), Selector: selector}, // validated when it was written
	}, nil
}

// rescale writes a scale's number of replicas into the custom object.
func rescale(s *apiextensionsv1.CustomResourceSubresourceScale, parent, sub runtime.Object) error {
	u, scale := parent.(*unstructured.Unstructured), sub.(*autoscalingv1.Scale)
	if scale.Spec.Replicas == noReplicas {
		return apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", s.SpecReplicasPath))
	}
	if scale.Spec.Replicas < 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, scale.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "should be a non-negative integer"),
		})
	}
	if err := unstructured.SetNestedField(u.Object, int64(scale.Spec.Replicas), steps(s.SpecReplicasPath)...); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

// validateScale validates the numbers that the scale subresource shows.
func (v *oneVersion) validateScale(u map[string]any, what check) field.ErrorList {
	s := v.scale()
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	if what == objectCheck {
		errs = append(errs, validateReplicas(u, s.SpecReplicasPath)...)
	}
	errs = append(errs, validateReplicas(u, s.StatusReplicasPath)...)
	if path := s.LabelSelectorPath; path != nil && *path != "" {
		if selector, _, err := unstructured.NestedString(u, steps(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}

func validateReplicas(u map[string]any, path string) field.ErrorList {
	replicas, _, err := unstructured.NestedInt64(u, steps(path)...)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, err.Error())}
	case replicas < 0:
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, "should be a non-negative integer")}
	case replicas > math.MaxInt32:
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}
	}
	return nil
}
