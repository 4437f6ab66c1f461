package ttl

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "ttl-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Aliases: []string{"ttl"}, Account: "ttl-controller",
		About:   "annotates nodes with the time for which kubelets should cache Secrets and ConfigMaps",
		Watches: []string{"nodes"}, Writes: []string{"nodes"},
		Docs:  "reference/labels-annotations-taints/#node-alpha-kubernetes-io-ttl",
		Build: build,
	}
}

// Controller annotates nodes. Its keys are nodes.
type Controller struct {
	client kubernetes.Interface

	mu sync.Mutex
	// size is the number of nodes that the events have shown.
	size int
	// step is the index of the step that the cluster is at. It depends on earlier sizes, too,
	// because the steps overlap.
	step int
}

func build(p *controller.Parts) error {
	nodes := p.Informers.Nodes().Informer()
	c := &Controller{client: p.Client}
	p.Loop(controller.Each(nodes, c.reconcile)).Watch(nodes, loop.Present, c.count)
	return nil
}

// count observes the nodes that come and go.
func (c *Controller) count(ev loop.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch ev.Type {
	case loop.Added:
		c.size++
	case loop.Deleted:
		c.size--
	}
	c.step = next(c.step, c.size)
}

func (c *Controller) seconds() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return steps[c.step].seconds
}

// reconcile sets the annotation of the node.
func (c *Controller) reconcile(ctx context.Context, node *corev1.Node) (loop.Result, error) {
	seconds := c.seconds()
	if has(node, seconds) {
		return loop.Result{}, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{corev1.ObjectTTLAnnotationKey: strconv.Itoa(seconds)},
	}})
	if err != nil {
		return loop.Result{}, fmt.Errorf("encoding the patch of node %s: %w", node.Name, err)
	}
	_, err = c.client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("annotating node %s with its time to live: %w", node.Name, err)
	}
	return loop.Result{}, nil
}
