package chaosmesh

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/clock"
)

// workflow runs a workflow from its entry on.
func (c *Controller) workflow(ctx context.Context, object *unstructured.Unstructured) error {
	var spec WorkflowSpec
	if err := specOf(object, &spec); err != nil {
		return err
	}
	w := newFlow(c, object, &spec)
	if err := w.check(spec.Entry, nil); err != nil {
		return err
	}
	c.patch(ctx, object, map[string]any{"entryNode": spec.Entry, "startTime": c.now(), "conditions": []any{condition("Scheduled", true), condition("Accomplished", false)}})
	if err := w.node(ctx, spec.Entry); err != nil {
		return err
	}
	c.patch(ctx, object, map[string]any{"endTime": c.now(), "conditions": []any{condition("Scheduled", true), condition("Accomplished", true)}})
	return nil
}

// flow is a workflow being run.
type flow struct {
	controller *Controller
	object     *unstructured.Unstructured
	templates  map[string]*Template
}

func newFlow(c *Controller, object *unstructured.Unstructured, spec *WorkflowSpec) *flow {
	w := &flow{controller: c, object: object, templates: map[string]*Template{}}
	for i := range spec.Templates {
		w.templates[spec.Templates[i].Name] = &spec.Templates[i]
	}
	return w
}

// check refuses what cannot be run, before anything is.
func (w *flow) check(name string, within []string) error {
	t := w.templates[name]
	if t == nil {
		return fmt.Errorf("spec.templates has none called %q", name)
	}
	for _, outer := range within {
		if outer == name {
			return fmt.Errorf("template %s is a part of itself", name)
		}
	}
	if _, err := duration(t.Deadline); err != nil {
		return fmt.Errorf("template %s: deadline: %w", name, err)
	}
	switch {
	case t.TemplateType == "Serial" || t.TemplateType == "Parallel":
		for _, child := range t.Children {
			if err := w.check(child, append(within, name)); err != nil {
				return err
			}
		}
	case t.TemplateType == "Suspend", t.TemplateType == KindPodChaos && t.PodChaos != nil, t.TemplateType == KindSchedule && t.Schedule != nil:
	default:
		return fmt.Errorf("template %s: templateType %q is none of Serial, Parallel, Suspend, PodChaos, Schedule, or has no spec", name, t.TemplateType)
	}
	return nil
}

// node runs a template to its end.
func (w *flow) node(ctx context.Context, name string) error {
	t := w.templates[name]
	deadline, _ := duration(t.Deadline) // it was checked
	switch t.TemplateType {
	case "Serial":
		return w.children(ctx, t, false)
	case "Parallel":
		return w.children(ctx, t, true)
	case "Suspend":
		return w.controller.sleep(ctx, deadline)
	}
	var spec map[string]any
	var err error
	if t.TemplateType == KindPodChaos {
		spec, err = runtime.DefaultUnstructuredConverter.ToUnstructured(t.PodChaos)
		if deadline == 0 {
			deadline, _ = duration(t.PodChaos.Duration)
		}
	} else {
		spec, err = runtime.DefaultUnstructuredConverter.ToUnstructured(t.Schedule)
	}
	if err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	c := w.controller
	made, err := c.create(ctx, w.object, t.TemplateType, w.object.GetName()+"-"+name+"-"+c.random.Suffix(5), spec)
	if err != nil {
		return err
	}
	err = c.sleep(ctx, deadline)
	if deadline > 0 {
		err = errors.Join(err, c.remove(context.WithoutCancel(ctx), made))
	}
	return err
}

// children runs the parts of a template, until its deadline.
func (w *flow) children(ctx context.Context, t *Template, atOnce bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if deadline, _ := duration(t.Deadline); deadline > 0 {
		timer := w.controller.cluster.Clock().AfterFunc(deadline, cancel)
		defer timer.Stop()
	}
	if !atOnce {
		for _, child := range t.Children {
			if err := w.node(ctx, child); err != nil {
				return w.inTime(ctx, t, err)
			}
		}
		return nil
	}
	ledger := w.controller.cluster.Ledger()
	errs := make([]error, len(t.Children))
	var parts sync.WaitGroup
	ended := make(chan struct{})
	left := len(t.Children)
	var mu sync.Mutex
	for i, child := range t.Children {
		ledger.Begin(clock.Action, 1)
		parts.Go(func() {
			errs[i] = w.node(ctx, child)
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				close(ended) // its count becomes that of whoever waits
				return
			}
			ledger.End(clock.Action, 1)
		})
	}
	if len(t.Children) == 0 {
		return nil
	}
	ledger.End(clock.Action, 1)
	<-ended
	parts.Wait()
	return w.inTime(ctx, t, errors.Join(errs...))
}

// inTime is err, unless it comes of the template's own deadline.
func (w *flow) inTime(ctx context.Context, t *Template, err error) error {
	if t.Deadline != "" && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (c *Controller) remove(ctx context.Context, object *unstructured.Unstructured) error {
	policy := metav1.DeletePropagationBackground
	err := c.dynamic.Resource(resourceOf(object.GetKind())).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
