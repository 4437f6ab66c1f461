package chaosmesh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// The labels by which the nodes of a workflow are found.
const (
	labelControlledBy = "chaos-mesh.org/controlled-by"
	labelWorkflow     = "chaos-mesh.org/workflow"
)

// node is a template being run: a WorkflowNode.
type node struct {
	*Template
	flow   *flow
	object *unstructured.Unstructured

	// mu guards the status, which children that run in parallel change.
	mu               sync.Mutex
	conditions       []any
	resource         any
	active, finished []string
}

// deadlineExceeded is the cause with which a node's context ends at its deadline.
type deadlineExceeded struct{ node string }

func (d *deadlineExceeded) Error() string { return "the deadline of " + d.node + " is over" }

// spawn makes the nodes of some templates. parent is nil for the entry.
func (w *flow) spawn(ctx context.Context, parent *node, names ...string) ([]*node, error) {
	nodes := make([]*node, len(names))
	created := make([]string, len(names))
	for i, name := range names {
		var err error
		if nodes[i], err = w.spawnOne(ctx, parent, w.templates[name]); err != nil {
			return nil, err
		}
		created[i] = nodes[i].object.GetName()
	}
	if parent != nil {
		parent.begun(ctx, created)
	}
	return nodes, nil
}

func (w *flow) spawnOne(ctx context.Context, parent *node, t *Template) (*node, error) {
	owner := w.object
	if parent != nil {
		owner = parent.object
	}
	now := w.controller.cluster.Clock().Now().UTC()
	spec := map[string]any{"templateName": t.Name, "workflowName": w.object.GetName(), "type": t.TemplateType, "startTime": now.Format(time.RFC3339)}
	reason := "NodeDeadlineOmitted"
	if deadline, _ := duration(t.Deadline); deadline > 0 { // Check has parsed it
		spec["deadline"], reason = now.Add(deadline).Format(time.RFC3339), "NodeDeadlineNotExceed"
	}
	if len(t.Children) > 0 {
		children := make([]any, len(t.Children))
		for i, child := range t.Children {
			children[i] = child
		}
		spec["children"] = children
	}
	if field, chaos, err := t.chaos(); err != nil {
		return nil, err
	} else if chaos != nil {
		spec[field] = chaos
	}
	object, err := w.controller.create(ctx, owner, KindWorkflowNode, t.Name, map[string]string{
		labelControlledBy: owner.GetName(), labelWorkflow: w.object.GetName(),
	}, spec)
	if err != nil {
		return nil, err
	}
	n := &node{Template: t, flow: w, object: object}
	n.set("Accomplished", false, "")
	n.set("DeadlineExceed", false, reason)
	n.writeStatus(ctx)
	return n, nil
}

// experiment returns the spec of the template's experiment; nil if it has none.
func (t *Template) experiment() experimentSpec { return t.of(t.TemplateType) }

// chaos returns the spec of a template's experiment, and the field that holds it.
func (t *Template) chaos() (field string, spec map[string]any, err error) {
	switch t.TemplateType {
	case KindPodChaos, KindNetworkChaos, KindDNSChaos, KindHTTPChaos:
		field = experimentFields[t.TemplateType]
		spec, err = runtime.DefaultUnstructuredConverter.ToUnstructured(t.experiment())
	case KindSchedule:
		field = "schedule"
		spec, err = runtime.DefaultUnstructuredConverter.ToUnstructured(t.Schedule)
	}
	if err != nil {
		return "", nil, fmt.Errorf("template %s: %w", t.Name, err)
	}
	return field, spec, nil
}

// set changes a condition.
func (n *node) set(kind string, is bool, reason string) {
	changed := condition(kind, is).(map[string]any)
	changed["reason"] = reason
	for i, c := range n.conditions {
		if c.(map[string]any)["type"] == kind {
			n.conditions[i] = changed
			return
		}
	}
	n.conditions = append(n.conditions, changed)
}

// writeStatus writes the node's status.
func (n *node) writeStatus(ctx context.Context) {
	n.flow.controller.patch(ctx, n.object, map[string]any{
		"conditions": n.conditions, "chaosResource": n.resource, "activeChildren": references(n.active), "finishedChildren": references(n.finished),
	})
}

func references(names []string) any {
	if len(names) == 0 {
		return nil
	}
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = map[string]any{"name": name}
	}
	return all
}

func (n *node) event(ctx context.Context, reason, message string) {
	n.flow.controller.event(ctx, n.object, corev1.EventTypeNormal, reason, message)
}

// end writes how the node has ended, and returns the error that its parent reports.
func (n *node) end(ctx context.Context, err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	var over *deadlineExceeded
	switch {
	case errors.As(err, &over) && over.node == n.object.GetName():
		n.event(ctx, "NodeDeadlineExceed", "deadline exceed")
		n.set("DeadlineExceed", true, "NodeDeadlineExceed")
		err = nil
	case errors.As(err, &over):
		// Chaos Mesh spells it so.
		n.event(ctx, "ParentNodeDeadlineExceed", fmt.Sprintf("deadline exceed bscause parent node %s deadline exceed", over.node))
		n.set("DeadlineExceed", true, "ParentNodeDeadlineExceed")
	case err != nil:
		return err // it is not known any more, or cannot be run
	default:
		n.event(ctx, "NodeAccomplished", "node accomplished")
		n.set("Accomplished", true, "NodeAccomplished")
	}
	n.writeStatus(ctx)
	return err
}

// begun is called when children were made, and ended when one has ended.
func (n *node) begun(ctx context.Context, names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	message := "child nodes created, "
	for i, name := range names {
		if i > 0 {
			message += ","
		}
		message += name
	}
	n.event(ctx, "NodesCreated", message)
	n.active = append(n.active, names...)
	n.writeStatus(ctx)
}

func (n *node) ended(ctx context.Context, child *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := child.object.GetName()
	for i, active := range n.active {
		if active == name {
			n.active = append(n.active[:i:i], n.active[i+1:]...)
			break
		}
	}
	n.finished = append(n.finished, name)
	n.writeStatus(context.WithoutCancel(ctx))
}
