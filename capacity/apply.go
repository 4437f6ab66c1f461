package capacity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/kubeletsim/nodes"
	"minikcm.dev/minikcm/scenarios/fault"
)

// check returns an InputError for changes of objects that do not exist, before any change is
// made.
func (f *Fork) check(ctx context.Context, changes []Change, nodes []corev1.Node) error {
	has := func(name string) error {
		if slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == name }) {
			return nil
		}
		return input("node %s does not exist", name)
	}
	for i := range changes {
		c := &changes[i]
		for _, name := range c.Nodes {
			if err := has(name); err != nil {
				return err
			}
		}
		if c.Like != "" {
			if err := has(c.Like); err != nil {
				return err
			}
		}
		if c.Target != nil {
			if _, err := f.replicas(ctx, c.Target); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply makes a change, except for evictions, which the drainer does.
func (f *Fork) apply(ctx context.Context, c *Change, nodes []corev1.Node, d *drainer) error {
	switch c.Verb {
	case Drain:
		cordon := []byte(`{"spec":{"unschedulable":true}}`)
		for _, name := range c.Nodes {
			if _, err := f.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, cordon, metav1.PatchOptions{}); err != nil {
				return fmt.Errorf("cordoning node %s: %w", name, err)
			}
		}
		d.nodes = append(d.nodes, c.Nodes...)
	case Remove:
		for _, name := range c.Nodes {
			if err := f.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("removing node %s: %w", name, err)
			}
		}
	case Add:
		return f.add(ctx, c, nodes)
	case Scale:
		return f.scale(ctx, c.Target, c.Replicas)
	}
	return nil
}

func (f *Fork) add(ctx context.Context, c *Change, existing []corev1.Node) error {
	at := slices.IndexFunc(existing, func(n corev1.Node) bool { return n.Name == c.Like })
	spec := nodes.SpecLike(&existing[at])
	for made, number := 0, 1; made < c.Count; number++ {
		name := fmt.Sprintf("%s-like-%d", c.Like, number)
		_, err := f.client.CoreV1().Nodes().Create(ctx, nodes.ObjectFor(name, &spec), metav1.CreateOptions{})
		switch {
		case apierrors.IsAlreadyExists(err):
		case err != nil:
			return fmt.Errorf("adding node %s: %w", name, err)
		default:
			made++
		}
	}
	return nil
}

// resource returns the client for a target's kind.
func (f *Fork) resource(t *Target) (dynamic.ResourceInterface, error) {
	q, _, err := f.kinds.Target(t.Kind, t.Namespace)
	if err != nil {
		return nil, InputError{err}
	}
	return f.dynamic.Resource(q.Resource).Namespace(q.Namespace), nil
}

// replicas returns the replicas in the spec of a workload's scale subresource.
func (f *Fork) replicas(ctx context.Context, t *Target) (int, error) {
	client, err := f.resource(t)
	if err != nil {
		return 0, err
	}
	scale, err := client.Get(ctx, t.Name, metav1.GetOptions{}, "scale")
	if apierrors.IsNotFound(err) {
		if _, there := client.Get(ctx, t.Name, metav1.GetOptions{}); there == nil {
			return 0, input("%s cannot be scaled: its kind has no replicas", t)
		}
		return 0, input("%s does not exist; select another namespace with -n", t)
	}
	if err != nil {
		return 0, fmt.Errorf("getting the scale of %s: %w", t, err)
	}
	n, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	return int(n), err
}

func (f *Fork) scale(ctx context.Context, t *Target, replicas int) error {
	client, err := f.resource(t)
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := client.Patch(ctx, t.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "scale"); err != nil {
		return fmt.Errorf("scaling %s: %w", t, err)
	}
	return nil
}

// drainer evicts the pods of nodes. Each attempt also retries the evictions that a budget
// refused before.
type drainer struct {
	nodes []string
	// refused are the refusals of the last attempt by pod UID.
	refused map[types.UID]Refusal
}

func (d *drainer) attempt(ctx context.Context, f *Fork) error {
	d.refused = map[types.UID]Refusal{}
	for _, node := range d.nodes {
		pods, err := f.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil {
			return fmt.Errorf("listing the pods of node %s: %w", node, err)
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.DeletionTimestamp != nil || !fault.Drains(pod) {
				continue
			}
			why, err := fault.Evict(ctx, f.client, pod, nil)
			if err != nil && !errors.Is(err, fault.ErrGone) {
				return err
			}
			if why != "" {
				d.refused[pod.UID] = Refusal{Pod: nameOf(pod), Node: node, Reason: why}
			}
		}
	}
	return nil
}
