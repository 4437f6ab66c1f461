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
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "ttl-controller"

// workers is upstream's number.
const workers = 5

// Controller annotates nodes. Its keys are nodes.
type Controller struct {
	client kubernetes.Interface
	nodes  corelisters.NodeLister
	loop   loop.Loop

	mu sync.Mutex
	// size is the number of nodes that the events have shown.
	size int
	// step is the index of the step that the cluster is at. It depends on earlier sizes, too,
	// because the steps overlap.
	step int
}

// New returns a controller. Run starts it.
func New(_ context.Context, e *env.Env) (*Controller, error) {
	client, _, err := e.ClientFor(Name)
	if err != nil {
		return nil, err
	}
	nodes := e.Informers.Nodes()
	c := &Controller{client: client, nodes: nodes.Lister()}
	c.loop = loop.New(e.Loop(Name, workers), c)
	c.loop.Watch(nodes.Informer(), onNode, c.count)
	return c, nil
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// Stats returns the counters of the controller's loop.
func (c *Controller) Stats() loop.Stats { return c.loop.Stats() }

func onNode(ev loop.Event) []types.NamespacedName {
	if ev.Type == loop.Deleted {
		return nil
	}
	return loop.Self(ev)
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

// Reconcile sets the annotation of the node.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	node, err := c.nodes.Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting node %s: %w", key.Name, err)
	}
	seconds := c.seconds()
	if has(node, seconds) {
		return loop.Result{}, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{corev1.ObjectTTLAnnotationKey: strconv.Itoa(seconds)},
	}})
	if err != nil {
		return loop.Result{}, fmt.Errorf("encoding the patch of node %s: %w", key.Name, err)
	}
	_, err = c.client.CoreV1().Nodes().Patch(ctx, key.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("annotating node %s with its time to live: %w", key.Name, err)
	}
	return loop.Result{}, nil
}
