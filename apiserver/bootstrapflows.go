package apiserver

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
	flowbootstrap "k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"minikcm.dev/minikcm/apiserver/storage"
	"minikcm.dev/minikcm/store"
)

// bootstrapFlows creates upstream's FlowSchemas and PriorityLevelConfigurations
// (k8s.io/apiserver, pkg/apis/flowcontrol/bootstrap). The first pass creates the
// suggested ones too; later passes restore the mandatory ones only.
func (s *Server) bootstrapFlows(ctx context.Context, first bool) error {
	if s.stored[flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")] == nil {
		return nil // a custom table without flow control
	}
	levels, schemas := slices.Clone(flowbootstrap.MandatoryPriorityLevelConfigurations), slices.Clone(flowbootstrap.MandatoryFlowSchemas)
	if first {
		levels = append(levels, flowbootstrap.SuggestedPriorityLevelConfigurations...)
		schemas = append(schemas, flowbootstrap.SuggestedFlowSchemas...)
	}
	known, err := s.names(ctx, "prioritylevelconfigurations")
	if err != nil {
		return err
	}
	for _, level := range levels {
		if !known[level.Name] {
			if err := s.ensure(ctx, updatable(level.DeepCopy())); err != nil {
				return fmt.Errorf("creating the priority level %s: %w", level.Name, err)
			}
		}
	}
	if known, err = s.names(ctx, "flowschemas"); err != nil {
		return err
	}
	for _, schema := range schemas {
		if !known[schema.Name] {
			if err := s.ensure(ctx, updatable(schema.DeepCopy())); err != nil {
				return fmt.Errorf("creating the flow schema %s: %w", schema.Name, err)
			}
		}
	}
	return nil
}

// names returns the names of the stored objects of a flow control resource.
func (s *Server) names(ctx context.Context, resource string) (map[string]bool, error) {
	objects := s.stored[flowcontrolv1.SchemeGroupVersion.WithResource(resource)]
	page, err := s.opts.Store.List(ctx, objects.Prefix(""), store.ListOptions{KeysOnly: true})
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

// ReserveFlow sets the condition Dangling of a FlowSchema that is about to be written.
// When a priority level is created or deleted, it updates the conditions of the
// FlowSchemas.
func (s reservations) ReserveFlow(ctx context.Context, obj, old runtime.Object, _ bool) (func(error), error) {
	if schema, ok := obj.(*flowcontrolv1.FlowSchema); ok {
		was, _ := old.(*flowcontrolv1.FlowSchema)
		if was == nil || was.Spec.PriorityLevelConfiguration != schema.Spec.PriorityLevelConfiguration || len(schema.Status.Conditions) == 0 {
			if err := s.setDangling(ctx, schema); err != nil {
				return nil, err
			}
		}
	}
	return func(outcome error) {
		if outcome == nil && (obj == nil || isLevel(obj) && old == nil) {
			s.registrar.Load().wake()
		}
	}, nil
}

func isLevel(obj runtime.Object) bool {
	_, is := obj.(*flowcontrolv1.PriorityLevelConfiguration)
	return is
}

// setDangling sets the condition Dangling, with upstream's texts.
func (s *Server) setDangling(ctx context.Context, schema *flowcontrolv1.FlowSchema) error {
	levels := s.stored[flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations")]
	name := schema.Spec.PriorityLevelConfiguration.Name
	_, err := levels.Get(ctx, levels.Key("", name), name)
	condition := flowcontrolv1.FlowSchemaCondition{
		Type: flowcontrolv1.FlowSchemaConditionDangling, Status: flowcontrolv1.ConditionFalse, Reason: "Found", LastTransitionTime: s.preparer.Now(),
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

// settleDangling updates the conditions of all FlowSchemas after priority levels were
// created or deleted.
func (s *Server) settleDangling(ctx context.Context) error {
	schemas := s.stored[flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")]
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
		if err := s.setDangling(ctx, settled); err != nil {
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
			return changed, s.setDangling(ctx, changed)
		}, storage.UpdateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("updating the flow schema %s: %w", schema.Name, err))
		}
	}
	return errors.Join(errs...)
}
