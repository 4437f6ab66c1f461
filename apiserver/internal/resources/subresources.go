package resources

import (
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/resources/columns"
)

// statusOf returns the status subresource of a kind: the object itself, of which only
// the status is written.
func statusOf(gvk schema.GroupVersionKind, newObject func() runtime.Object) Subresource {
	return Subresource{Name: "status", GroupVersionKind: gvk, Verbs: StatusVerbs, New: newObject}
}

// statusWithoutTable is statusOf for the kinds whose status has no Table form.
func statusWithoutTable(gvk schema.GroupVersionKind, newObject func() runtime.Object) Subresource {
	sub := statusOf(gvk, newObject)
	sub.NoTable = true
	return sub
}

// scalable has the fields of a workload that the scale subresource needs.
type scalable struct {
	meta *metav1.ObjectMeta
	// replicas is the desired number; never nil once defaults are set.
	replicas *int32
	current  int32
	selector *metav1.LabelSelector
}

// ScaleTable returns the columns and cells of scales.
func ScaleTable() ([]metav1.TableColumnDefinition, func(obj runtime.Object, now time.Time) []any) {
	table := columns.Scale()
	return table.Columns, table.Cells
}

// scaleOf returns the scale subresource (autoscaling/v1) of a workload.
func scaleOf(view func(obj runtime.Object) scalable, set func(obj runtime.Object, replicas int32)) Subresource {
	table := columns.Scale()
	return Subresource{
		Name:             "scale",
		Columns:          table.Columns,
		Cells:            table.Cells,
		Replicas:         []string{"spec", "replicas"},
		GroupVersionKind: autoscalingv1.SchemeGroupVersion.WithKind("Scale"),
		Verbs:            StatusVerbs,
		New:              func() runtime.Object { return &autoscalingv1.Scale{} },
		Get: func(parent runtime.Object) (runtime.Object, error) {
			return scaleFrom(view(parent))
		},
		Update: func(parent, sub runtime.Object) error {
			sent := sub.(*autoscalingv1.Scale)
			if err := checkScale(view(parent).meta, sent); err != nil {
				return err
			}
			set(parent, sent.Spec.Replicas)
			return nil
		},
	}
}

func scaleFrom(s scalable) (runtime.Object, error) {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name:              s.meta.Name,
			Namespace:         s.meta.Namespace,
			UID:               s.meta.UID,
			ResourceVersion:   s.meta.ResourceVersion,
			CreationTimestamp: s.meta.CreationTimestamp,
		},
		Status: autoscalingv1.ScaleStatus{Replicas: s.current},
	}
	if s.replicas != nil {
		scale.Spec.Replicas = *s.replicas
	}
	selector, err := metav1.LabelSelectorAsSelector(s.selector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	scale.Status.Selector = selector.String()
	return scale, nil
}

func checkScale(parent *metav1.ObjectMeta, sent *autoscalingv1.Scale) error {
	errs := apivalidation.ValidateNonnegativeField(int64(sent.Spec.Replicas), field.NewPath("spec", "replicas"))
	if len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, parent.Name, errs)
	}
	return nil
}
