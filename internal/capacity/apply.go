package capacity

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/kubeletsim"
)

// check completes the changes. It returns an InputError for changes of objects that do not exist, before any
// change is made.
func (f *Fork) check(ctx context.Context, changes []Change, nodes []corev1.Node) error {
	for i := range changes {
		c := &changes[i]
		if len(c.Selected) > 0 {
			var err error
			if c.Nodes, err = find(c.Selected, nodes); err != nil {
				return err
			}
		}
		if c.Like != "" && !slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == c.Like }) {
			return input("node %s does not exist", c.Like)
		}
		if c.Verb == Apply {
			var err error
			if c.objects, err = readFile(c.File, c.Namespace); err != nil {
				return err
			}
		}
		if c.Verb == Load {
			if _, err := f.loadedBy(ctx, c.Target); err != nil {
				return err
			}
			if !f.opts.Autoscale {
				return input("load has an effect on autoscalers only, which do not act in this fork")
			}
			continue
		}
		if c.Target != nil {
			if _, err := f.replicas(ctx, c.Target); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply makes a change, or begins it: then it returns the activity that goes on with it.
func (f *Fork) apply(ctx context.Context, c *Change, nodes []corev1.Node) (activity, error) {
	switch c.Verb {
	case Drain:
		if err := f.cordon(ctx, c.Nodes); err != nil {
			return nil, err
		}
		return f.drain(c.Nodes), nil
	case Remove:
		return nil, f.remove(ctx, c.Nodes)
	case Crash:
		for _, name := range c.Nodes {
			if err := f.cluster.Kubelets().CrashNode(name); err != nil {
				return nil, fmt.Errorf("crashing node %s: %w", name, err)
			}
		}
	case Apply:
		rejected, err := f.applyAll(ctx, c.objects)
		return rejections(rejected), err
	case Load:
		return nil, f.multiply(ctx, c.Target, c.Factor)
	case Consolidate:
		return f.beginConsolidation(ctx, c.Nodes)
	case Upgrade:
		return f.upgrade(c.Nodes, c.Surge, nodes), nil
	case Add:
		return nil, f.add(ctx, c, nodes)
	case Scale:
		return nil, f.scale(ctx, c.Target, c.Replicas)
	}
	return nil, nil
}

func (f *Fork) remove(ctx context.Context, nodes []string) error {
	for _, name := range nodes {
		if err := f.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing node %s: %w", name, err)
		}
	}
	return nil
}

func (f *Fork) add(ctx context.Context, c *Change, existing []corev1.Node) error {
	at := slices.IndexFunc(existing, func(n corev1.Node) bool { return n.Name == c.Like })
	spec := kubeletsim.NodeSpecLike(&existing[at])
	for made, number := 0, 1; made < c.Count; number++ {
		name := fmt.Sprintf("%s-like-%d", c.Like, number)
		err := f.createNode(ctx, name, &spec)
		switch {
		case apierrors.IsAlreadyExists(err):
		case err != nil:
			return err
		default:
			made++
		}
	}
	return nil
}

// createNode creates a node, which is Ready after Options.NodeDelay.
func (f *Fork) createNode(ctx context.Context, name string, spec *minikcm.NodeSpec) error {
	object := kubeletsim.NodeFor(name, spec)
	if f.opts.NodeDelay > 0 {
		object.Annotations[minikcm.AnnotationReadyDelay] = f.opts.NodeDelay.String()
	}
	if _, err := f.client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("adding node %s: %w", name, err)
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
