package ownobjects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	flowbootstrap "k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/store"
)

// Flows writes the objects of API Priority and Fairness that every cluster has.
type Flows struct {
	Writer *Writer
	// Stored returns the storage of a built-in resource, or nil.
	Stored func(resource schema.GroupVersionResource) *storage.Objects
	Store  store.Store
}

func (f *Flows) objects(resource string) *storage.Objects {
	return f.Stored(flowcontrolv1.SchemeGroupVersion.WithResource(resource))
}

// Ensure creates upstream's FlowSchemas and PriorityLevelConfigurations
// (k8s.io/apiserver, pkg/apis/flowcontrol/bootstrap). The first pass creates the
// suggested ones too; later passes restore the mandatory ones only.
func (f *Flows) Ensure(ctx context.Context, first bool) error {
	if f.objects("flowschemas") == nil {
		return nil // a custom table without flow control
	}
	levels, schemas := slices.Clone(flowbootstrap.MandatoryPriorityLevelConfigurations), slices.Clone(flowbootstrap.MandatoryFlowSchemas)
	if first {
		levels = append(levels, flowbootstrap.SuggestedPriorityLevelConfigurations...)
		schemas = append(schemas, flowbootstrap.SuggestedFlowSchemas...)
	}
	known, err := f.names(ctx, "prioritylevelconfigurations")
	if err != nil {
		return err
	}
	for _, level := range levels {
		if !known[level.Name] {
			if err := f.Writer.Ensure(ctx, updatable(level.DeepCopy())); err != nil {
				return fmt.Errorf("creating the priority level %s: %w", level.Name, err)
			}
		}
	}
	if known, err = f.names(ctx, "flowschemas"); err != nil {
		return err
	}
	for _, schema := range schemas {
		if !known[schema.Name] {
			if err := f.Writer.Ensure(ctx, updatable(schema.DeepCopy())); err != nil {
				return fmt.Errorf("creating the flow schema %s: %w", schema.Name, err)
			}
		}
	}
	return nil
}

// names returns the names of the stored objects of a flow control resource.
func (f *Flows) names(ctx context.Context, resource string) (map[string]bool, error) {
	objects := f.objects(resource)
	page, err := f.Store.List(ctx, objects.Prefix(""), store.ListOptions{KeysOnly: true})
	if err != nil {
		return nil, fmt.Errorf("listing the %s: %w", resource, err)
	}
	names := map[string]bool{}
	for _, kv := range page.KeyValues {
		names[kv.Key[len(objects.Prefix("")):]] = true
	}
	return names, nil
}

// updatable sets the annotation that lets the server update the object's spec.
func updatable[T metav1.Object](obj T) T {
	obj.SetAnnotations(map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"})
	return obj
}

// SetDangling sets the condition Dangling, with upstream's texts.
func (f *Flows) SetDangling(ctx context.Context, schema *flowcontrolv1.FlowSchema) error {
	levels := f.objects("prioritylevelconfigurations")
	name := schema.Spec.PriorityLevelConfiguration.Name
	_, err := levels.Get(ctx, levels.Key("", name), name)
	condition := flowcontrolv1.FlowSchemaCondition{
		Type: flowcontrolv1.FlowSchemaConditionDangling, Status: flowcontrolv1.ConditionFalse, Reason: "Found", LastTransitionTime: f.Writer.Preparer.Now(),
		Message: fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", name),
	}
	if apierrors.IsNotFound(err) {
		condition.Status, condition.Reason = flowcontrolv1.ConditionTrue, "NotFound"
		condition.Message = fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q but there is no such object", name)
	} else if err != nil {
		return err
	}
	for i, known := range schema.Status.Conditions {
		if known.Type != condition.Type {
			continue
		}
		if known.Status == condition.Status {
			condition.LastTransitionTime = known.LastTransitionTime
		}
		conditions := slices.Clone(schema.Status.Conditions)
		conditions[i] = condition
		schema.Status.Conditions = conditions
		return nil
	}
	schema.Status.Conditions = append(slices.Clip(schema.Status.Conditions), condition)
	return nil
}

// SettleDangling updates the conditions of all FlowSchemas after priority levels were
// created or deleted.
func (f *Flows) SettleDangling(ctx context.Context) error {
	schemas := f.objects("flowschemas")
	if schemas == nil {
		return nil
	}
	all, err := storage.ListAll[*flowcontrolv1.FlowSchema](ctx, schemas)
	if err != nil {
		return fmt.Errorf("listing the flow schemas: %w", err)
	}
	var errs []error
	for _, schema := range all {
		settled := schema.DeepCopy()
		if err := f.SetDangling(ctx, settled); err != nil {
			return err
		}
		if apiequality.Semantic.DeepEqual(schema.Status, settled.Status) {
			continue
		}
		_, err := schemas.Update(ctx, schemas.Key("", schema.Name), schema.Name, func(current runtime.Object) (runtime.Object, error) {
			changed, ok := current.DeepCopyObject().(*flowcontrolv1.FlowSchema)
			if !ok {
				return current, nil
			}
			return changed, f.SetDangling(ctx, changed)
		}, storage.UpdateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("updating the flow schema %s: %w", schema.Name, err))
		}
	}
	return errors.Join(errs...)
}
