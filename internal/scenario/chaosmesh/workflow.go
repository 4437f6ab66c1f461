package chaosmesh

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm/internal/inflight"
)

// workflow runs a workflow from its entry on.
func (c *Controller) workflow(ctx context.Context, object *unstructured.Unstructured) error {
	var spec WorkflowSpec
	if err := specOf(object, &spec); err != nil {
		return err
	}
	w := newFlow(c, object, &spec)
	if err := w.check(spec.Entry, nil); err != nil {
		c.event(ctx, object, corev1.EventTypeWarning, "InvalidEntry", "failed to spawn new entry node of workflow, entry: "+spec.Entry)
		return err
	}
	entry, err := w.spawn(ctx, nil, spec.Entry)
	if err != nil {
		return err
	}
	name := entry[0].object.GetName()
	c.event(ctx, object, corev1.EventTypeNormal, "EntryCreated", "entry node created, entry node "+name)
	c.patch(ctx, object, map[string]any{"entryNode": name, "startTime": c.now(), "conditions": []any{condition("Scheduled", true), condition("Accomplished", false)}})
	if err := w.run(ctx, entry[0]); err != nil {
		return err
	}
	c.patch(ctx, object, map[string]any{"endTime": c.now(), "conditions": []any{condition("Scheduled", true), condition("Accomplished", true)}})
	c.event(ctx, object, corev1.EventTypeNormal, "WorkflowAccomplished", "workflow accomplished")
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

// check returns an error for a workflow that cannot be run, before its first node runs.
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
	case t.TemplateType == "Suspend", experimentFields[t.TemplateType] != "" && t.experiment() != nil, t.TemplateType == KindSchedule && t.Schedule != nil:
	default:
		if reason := refusedTemplates()[t.TemplateType]; reason != "" {
			return fmt.Errorf("template %s: %s", name, notRun(t.TemplateType, reason))
		}
		return fmt.Errorf("template %s: templateType %q is none of Serial, Parallel, Suspend, PodChaos, NetworkChaos, DNSChaos, HTTPChaos, Schedule, or has no spec", name, t.TemplateType)
	}
	return nil
}

// run runs a node to its end.
func (w *flow) run(ctx context.Context, n *node) error {
	var err error
	switch n.TemplateType {
	case "Serial", "Parallel":
		return n.end(ctx, w.children(ctx, n))
	case "Suspend":
		err = w.sleep(ctx, n.Deadline)
	default:
		err = w.breaks(ctx, n)
	}
	if err == nil && n.Deadline != "" {
		err = &deadlineExceeded{n.object.GetName()} // Suspend, PodChaos and Schedule end with their deadline
	}
	return n.end(ctx, err)
}

// sleep waits for the duration in text on the cluster's clock, or returns the cause of ctx's end.
func (w *flow) sleep(ctx context.Context, text string) error {
	d, _ := duration(text) // check has parsed it
	if err := w.controller.sleep(ctx, d); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// breaks creates the PodChaos or Schedule of a node, and deletes it at the node's end.
func (w *flow) breaks(ctx context.Context, n *node) error {
	_, spec, err := n.chaos()
	if err != nil {
		return err
	}
	made, err := w.controller.create(ctx, n.object, n.TemplateType, n.object.GetName(), map[string]string{
		labelControlledBy: n.object.GetName(), labelWorkflow: w.object.GetName(),
	}, spec)
	if err != nil {
		return err
	}
	n.event(ctx, "ChaosCRCreated", fmt.Sprintf("chaos CR %s created", made.GetName()))
	n.resource = map[string]any{"apiGroup": Group, "kind": n.TemplateType, "name": made.GetName()}
	n.set("ChaosInjected", true, "ChaosCRCreated")
	n.writeStatus(ctx)
	text := n.Deadline
	if text == "" {
		if spec := n.experiment(); spec != nil {
			text = spec.duration()
		}
	}
	err = w.sleep(ctx, text)
	if text == "" {
		return err // without a deadline, the object stays
	}
	last := context.WithoutCancel(ctx)
	if failure := w.controller.remove(last, made); failure != nil {
		return errors.Join(err, failure)
	}
	n.event(last, "ChaosCRDeleted", fmt.Sprintf("chaos CR %s deleted", made.GetName()))
	n.resource = nil
	n.set("ChaosInjected", false, "ChaosCRNotExists")
	return err
}

// children runs the child nodes of a node, until its deadline.
func (w *flow) children(ctx context.Context, n *node) error {
	if deadline, _ := duration(n.Deadline); deadline > 0 {
		limited, stop := inflight.WithTimeoutCause(ctx, w.controller.cluster.Clock(), deadline, &deadlineExceeded{n.object.GetName()})
		defer stop()
		ctx = limited
	}
	part := w.oneByOne
	if n.TemplateType == "Parallel" {
		part = w.atOnce
	}
	err := part(ctx, n)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (w *flow) oneByOne(ctx context.Context, n *node) error {
	for _, name := range n.Children {
		child, err := w.spawn(ctx, n, name)
		if err != nil {
			return err
		}
		if err := w.run(ctx, child[0]); err != nil {
			return err
		}
		n.ended(ctx, child[0])
	}
	return nil
}

func (w *flow) atOnce(ctx context.Context, n *node) error {
	children, err := w.spawn(ctx, n, n.Children...)
	if err != nil || len(children) == 0 {
		return err
	}
	errs := make([]error, len(children))
	parts := inflight.NewGroup(w.controller.cluster.Ledger(), inflight.Action)
	for i, child := range children {
		parts.Go(func(work *inflight.Work) {
			own := inflight.With(inflight.Alone(ctx), work)
			if errs[i] = w.run(own, child); errs[i] == nil {
				n.ended(own, child)
			}
		})
	}
	parts.Wait(ctx)
	return errors.Join(errs...)
}

func (c *Controller) remove(ctx context.Context, object *unstructured.Unstructured) error {
	policy := metav1.DeletePropagationBackground
	err := c.dynamic.Resource(resourceOf(object.GetKind())).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
