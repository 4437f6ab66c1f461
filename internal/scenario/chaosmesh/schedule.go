package chaosmesh

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

const (
	managedBy           = "managed-by"
	defaultHistoryLimit = 1
)

// schedule makes an object at each of a schedule's times.
func (c *Controller) schedule(ctx context.Context, object *unstructured.Unstructured) error {
	var spec ScheduleSpec
	if err := specOf(object, &spec); err != nil {
		return err
	}
	when, err := cron.ParseStandard(spec.Schedule)
	if err != nil {
		return fmt.Errorf("spec.schedule %q: %w", spec.Schedule, err)
	}
	field := experimentFields[spec.Type]
	if spec.Type == KindWorkflow {
		field = "workflow"
	}
	template, found, _ := unstructured.NestedMap(object.Object, "spec", field)
	if field == "" || !found {
		return fmt.Errorf("spec.type %q: only %s, %s, %s, %s and %s can be scheduled, and their spec must be there", spec.Type, KindPodChaos, KindNetworkChaos, KindDNSChaos, KindHTTPChaos, KindWorkflow)
	}
	for {
		now := c.cluster.Clock().Now()
		due := when.Next(now.UTC())
		if err := c.sleep(ctx, due.Sub(now)); err != nil {
			return err
		}
		if late := c.cluster.Clock().Since(due); spec.StartingDeadlineSeconds != nil && late > time.Duration(*spec.StartingDeadlineSeconds)*time.Second {
			c.event(ctx, object, corev1.EventTypeWarning, "MissSchedule", "Missed scheduled time to start a job: "+due.Format(time.RFC1123Z))
			continue
		}
		if err := c.spawn(ctx, object, &spec, template, due); err != nil {
			return err
		}
	}
}

// spawn makes the object of one time, and deletes the oldest objects beyond the limit.
func (c *Controller) spawn(ctx context.Context, object *unstructured.Unstructured, spec *ScheduleSpec, template map[string]any, due time.Time) error {
	children, err := c.children(ctx, object, spec.Type)
	if err != nil {
		return err
	}
	active := slices.DeleteFunc(slices.Clone(children), func(child unstructured.Unstructured) bool { return done(spec.Type, &child) })
	if spec.ConcurrencyPolicy != "Allow" && len(active) > 0 {
		c.event(ctx, object, corev1.EventTypeWarning, "Forbid", fmt.Sprintf("Forbid spawning new job because: %s is still running", active[0].GetName()))
		return nil
	}
	child, err := c.create(ctx, object, spec.Type, object.GetName(), map[string]string{managedBy: object.GetName()}, template)
	if err != nil {
		return err
	}
	c.event(ctx, object, corev1.EventTypeNormal, "Spawned", "Create new object: "+child.GetName())
	limit := spec.HistoryLimit
	if limit <= 0 {
		limit = defaultHistoryLimit
	}
	for i := range min(len(children)+1-limit, len(children)) {
		if !done(spec.Type, &children[i]) {
			c.event(ctx, object, corev1.EventTypeWarning, "Skip", fmt.Sprintf("Skip removing history: %s is still running", children[i].GetName()))
			continue
		}
		if err := c.remove(ctx, &children[i]); err != nil {
			return err
		}
	}
	c.patch(ctx, object, map[string]any{"time": due.UTC().Format(time.RFC3339), "active": []any{map[string]any{
		"apiVersion": Group + "/" + Version, "kind": spec.Type, "namespace": child.GetNamespace(), "name": child.GetName(), "uid": string(child.GetUID()),
	}}})
	c.event(ctx, object, corev1.EventTypeNormal, "Updated", "Successfully update lastScheduleTime of resource")
	return nil
}

// children are the objects that a schedule has made, the oldest first.
func (c *Controller) children(ctx context.Context, object *unstructured.Unstructured, kind string) ([]unstructured.Unstructured, error) {
	list, err := c.dynamic.Resource(resourceOf(kind)).Namespace(object.GetNamespace()).List(ctx, metav1.ListOptions{LabelSelector: managedBy + "=" + object.GetName()})
	if err != nil {
		return nil, fmt.Errorf("listing what schedule %s has made: %w", object.GetName(), err)
	}
	slices.SortStableFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	return list.Items, nil
}

// create makes an object that belongs to another one. Its name begins with prefix.
func (c *Controller) create(ctx context.Context, owner *unstructured.Unstructured, kind, prefix string, labels map[string]string, spec map[string]any) (*unstructured.Unstructured, error) {
	child := &unstructured.Unstructured{Object: map[string]any{"apiVersion": Group + "/" + Version, "kind": kind, "spec": spec}}
	child.SetNamespace(owner.GetNamespace())
	child.SetName(prefix + "-" + c.random.Suffix(5))
	child.SetLabels(labels)
	child.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: Group + "/" + Version, Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}})
	made, err := c.dynamic.Resource(resourceOf(kind)).Namespace(owner.GetNamespace()).Create(ctx, child, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating the %s of %s %s: %w", kind, owner.GetKind(), owner.GetName(), err)
	}
	return made, nil
}
