package podgc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/bynode"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/disruption"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "pod-garbage-collector-controller"

// Upstream's defaults.
const (
	// quarantine is the time between the deletion of a node and the deletion of its pods.
	quarantine = 40 * time.Second
	// period is the longest delay for other pods.
	period   = 20 * time.Second
	parallel = 16
)

// orphaned is the note in the status of a pod whose node is gone.
var orphaned = disruption.Note{Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists", Fail: true}

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 4, Aliases: []string{"podgc"}, Account: "pod-garbage-collector",
		About:   "deletes pods that have ended or whose node is gone",
		Watches: []string{"pods", "nodes"}, Writes: []string{"pods", "pods/status"},
		Docs:     "concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection",
		Defaults: func(s *controller.Settings) { s.PodGCController.TerminatedPodGCThreshold = 12500 },
		Flags: func(fs *pflag.FlagSet, s *controller.Settings) {
			c := &s.PodGCController
			fs.Int32Var(&c.TerminatedPodGCThreshold, "terminated-pod-gc-threshold", c.TerminatedPodGCThreshold, "number of ended pods to keep; 0 or less keeps all")
		},
		Build: build,
	}
}

// Controller deletes pods. Its keys are pods; keys without a namespace are nodes, and the
// empty key represents all ended pods.
type Controller struct {
	clock      clock.Clock
	client     kubernetes.Interface
	threshold  int
	nodes      corelisters.NodeLister
	pods       corelisters.PodLister
	podsByNode bynode.Pods
	loop       loop.Loop

	mu sync.Mutex
	// ended holds the keys of ended pods.
	ended map[types.NamespacedName]bool
}

// allEnded is the key that represents all ended pods.
var allEnded = types.NamespacedName{}

func build(p *controller.Parts) error {
	podsByNode, err := bynode.New(p.Informers.Pods().Informer())
	if err != nil {
		return err
	}
	c := &Controller{
		clock: p.Clock, client: p.Client, threshold: int(p.Settings.PodGCController.TerminatedPodGCThreshold),
		nodes: p.Informers.Nodes().Lister(), pods: p.Informers.Pods().Lister(), podsByNode: podsByNode,
		ended: map[types.NamespacedName]bool{},
	}
	c.loop = p.Loop(c)
	c.loop.Watch(p.Informers.Nodes().Informer(), c.wakeForNode)
	c.loop.Watch(p.Informers.Pods().Informer(), c.wakeForPod)
	return nil
}

// wakeForNode enqueues a deleted node after its quarantine, and the pods of a node that has
// been taken out of service.
func (c *Controller) wakeForNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	if ev.Type == loop.Deleted {
		c.loop.AddAfter(loop.KeyOf(node), quarantine)
		return nil
	}
	if !isOutOfService(node) {
		return nil
	}
	if old, ok := ev.Old.(*corev1.Node); ok && isOutOfService(old) {
		return nil
	}
	for _, pod := range c.podsByNode.On(node.Name) {
		if pod.DeletionTimestamp != nil {
			c.loop.AddAfter(loop.KeyOf(pod), period)
		}
	}
	return nil
}

func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	key := loop.KeyOf(pod)
	if c.count(key, ev.Type != loop.Deleted && controllerref.Ended(pod)) {
		c.loop.AddAfter(allEnded, period)
	}
	if ev.Type == loop.Deleted {
		return nil
	}
	if pod.Spec.NodeName == "" {
		if neverBound(pod) {
			c.loop.AddAfter(key, period)
		}
		return nil
	}
	node, err := c.nodes.Get(pod.Spec.NodeName)
	switch {
	case apierrors.IsNotFound(err):
		c.loop.AddAfter(types.NamespacedName{Name: pod.Spec.NodeName}, quarantine)
	case err == nil && outOfService(pod, node):
		c.loop.AddAfter(key, period)
	}
	return nil
}

// count records whether a pod has ended, and reports whether there are too many ended pods.
func (c *Controller) count(key types.NamespacedName, is bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !is {
		delete(c.ended, key)
		return false
	}
	c.ended[key] = true
	return c.threshold > 0 && len(c.ended) > c.threshold
}

// Reconcile handles a pod, the pods of a node, or all ended pods, depending on the key, and deletes
// the pods that must be deleted.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	switch {
	case key == allEnded:
		return loop.Result{}, c.removeSurplus(ctx)
	case key.Namespace == "":
		return loop.Result{}, c.removeOrphans(ctx, key.Name)
	}
	pod, err := c.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, fmt.Errorf("getting pod %s: %w", key, err)
	}
	node, err := c.nodes.Get(pod.Spec.NodeName)
	if err != nil {
		node = nil
	}
	if neverBound(pod) || outOfService(pod, node) {
		return loop.Result{}, c.remove(ctx, pod, disruption.Note{Fail: true})
	}
	return loop.Result{}, nil
}

// removeOrphans deletes the pods of a node if the API confirms that the node is gone.
func (c *Controller) removeOrphans(ctx context.Context, node string) error {
	pods := c.podsByNode.On(node)
	if len(pods) == 0 {
		return nil
	}
	if _, err := c.nodes.Get(node); err == nil {
		return nil
	}
	if _, err := c.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); err == nil {
		return nil
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("getting node %s: %w", node, err)
	}
	return c.removeAll(ctx, pods, orphaned)
}

// removeSurplus deletes the oldest of the ended pods.
func (c *Controller) removeSurplus(ctx context.Context) error {
	all, err := c.pods.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	var done []*corev1.Pod
	for _, pod := range all {
		if controllerref.Ended(pod) {
			done = append(done, pod)
		}
	}
	return c.removeAll(ctx, surplus(done, c.threshold), disruption.Note{Fail: true})
}

func (c *Controller) removeAll(ctx context.Context, pods []*corev1.Pod, note disruption.Note) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(clock.AtOnce(ctx, parallel))
	for _, pod := range pods {
		group.Go(func() error { return c.remove(groupCtx, pod, note) })
	}
	return group.Wait()
}

// remove deletes the pod immediately, without its kubelet.
func (c *Controller) remove(ctx context.Context, pod *corev1.Pod, note disruption.Note) error {
	if err := disruption.Mark(ctx, c.client, pod, note, c.clock.Now()); err != nil {
		return err
	}
	var now int64
	err := c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
