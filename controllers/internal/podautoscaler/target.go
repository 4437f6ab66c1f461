package podautoscaler

import (
	"context"
	"errors"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/controllers/internal/scales"
)

// targets reads and writes the scale subresource of objects of any kind that has one.
type targets struct{ *scales.Client }

// get returns the target's scale and the resource under which it was found.
func (t targets) get(ctx context.Context, namespace string, ref autoscalingv2.CrossVersionObjectReference) (*autoscalingv1.Scale, schema.GroupResource, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, schema.GroupResource{}, err
	}
	mappings, err := t.Mappings(schema.GroupKind{Group: gv.Group, Kind: ref.Kind})
	if err != nil {
		return nil, schema.GroupResource{}, err
	}
	first := errors.New("unrecognized resource")
	for i, mapping := range mappings {
		resource := mapping.Resource.GroupResource()
		got, err := t.Scales(namespace).Get(ctx, resource, ref.Name, metav1.GetOptions{})
		if err == nil {
			return got, resource, nil
		}
		if i == 0 {
			first = err
		}
	}
	return nil, schema.GroupResource{}, first
}

// updates is the number of attempts to write a size after conflicts.
const updates = 5

// resize writes a target's size, regardless of other changes of the target.
func (t targets) resize(ctx context.Context, resource schema.GroupResource, current *autoscalingv1.Scale, replicas int32) error {
	var err error
	for range updates {
		wanted := current.DeepCopy()
		wanted.Spec.Replicas = replicas
		if _, err = t.Scales(current.Namespace).Update(ctx, resource, wanted, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
		if current, err = t.Scales(wanted.Namespace).Get(ctx, resource, wanted.Name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	return err
}
