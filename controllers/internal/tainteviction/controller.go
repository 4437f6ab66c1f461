package tainteviction

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/executor"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/bynode"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle/disruption"
	"minikcm.dev/minikcm/controllers/internal/tainteviction/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller, and the source of its events.
const Name = "taint-eviction-controller"

// deletion is the note in the status of an evicted pod.
var deletion = disruption.Note{Reason: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint"}

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 8, Account: "node-controller",
		About:   "evicts pods from nodes whose taints they do not tolerate",
		Watches: []string{"nodes", "pods"}, Writes: []string{"pods", "pods/status"},
		Docs:  "concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions",
		Build: build,
	}
}

// Controller evicts pods. Its keys are pods.
type Controller struct {
	clock      clock.Clock
	client     kubernetes.Interface
	nodes      corelisters.NodeLister
	pods       corelisters.PodLister
	podsByNode bynode.Pods
	events     record.EventRecorder

	mu    sync.Mutex
	known map[types.NamespacedName]*pending
}

// pending is a pod whose eviction is scheduled or done.
type pending struct {
	uid types.UID
	decide.Eviction
	done bool
}

func build(p *controller.Parts) error {
	podsByNode, err := bynode.New(p.Informers.Pods().Informer())
	if err != nil {
		return err
	}
	c := &Controller{
		clock: p.Clock, client: p.Client, nodes: p.Informers.Nodes().Lister(), pods: p.Informers.Pods().Lister(),
		podsByNode: podsByNode, events: p.Recorder.For(p.Name), known: map[types.NamespacedName]*pending{},
	}
	l := p.Loop(c)
	l.Watch(p.Informers.Nodes().Informer(), c.wakeForNode)
	l.Watch(p.Informers.Pods().Informer(), c.wakeForPod)
	return nil
}

// wakeForNode enqueues the pods of a node whose NoExecute taints have changed. For the pods
// of a node that is gone, earlier decisions stand.
func (c *Controller) wakeForNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok || ev.Type == loop.Deleted {
		return nil
	}
	taints := decide.NoExecute(node)
	old, _ := ev.Old.(*corev1.Node)
	if old == nil && len(taints) == 0 || old != nil && apiequality.Semantic.DeepEqual(decide.NoExecute(old), taints) {
		return nil
	}
	var keys []types.NamespacedName
	for _, pod := range c.podsByNode.On(node.Name) {
		keys = append(keys, loop.KeyOf(pod))
	}
	return keys
}

// wakeForPod enqueues a pod that is on a tainted node or has a pending eviction.
func (c *Controller) wakeForPod(ev loop.Event) []types.NamespacedName {
	pod, ok := ev.Object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	key := loop.KeyOf(pod)
	if ev.Type == loop.Deleted {
		if c.get(key) == nil {
			return nil
		}
		return []types.NamespacedName{key}
	}
	if old, ok := ev.Old.(*corev1.Pod); ok && old.UID == pod.UID && old.Spec.NodeName == pod.Spec.NodeName &&
		len(old.Spec.Tolerations) == len(pod.Spec.Tolerations) { // the API allows additions only
		return nil
	}
	node, err := c.nodes.Get(pod.Spec.NodeName)
	if c.get(key) == nil && (err != nil || len(decide.NoExecute(node)) == 0) {
		return nil
	}
	return []types.NamespacedName{key}
}

func (c *Controller) get(key types.NamespacedName) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

// set stores p; nil removes the entry.
func (c *Controller) set(key types.NamespacedName, p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p == nil {
		delete(c.known, key)
	} else {
		c.known[key] = p
	}
}

// Reconcile decides about one pod and executes the decision.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
	known := c.get(key)
	pod, err := c.pods.Pods(key.Namespace).Get(key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("getting pod %s: %w", key, err)
	}
	if err != nil {
		if known != nil && !known.done {
			c.report(key, "Cancelling deletion of Pod")
		}
		c.set(key, nil)
		return loop.Result{}, nil
	}
	if known != nil && known.uid != pod.UID {
		known = nil
		c.set(key, nil)
	}
	if known != nil && known.done || pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" {
		return loop.Result{}, nil
	}
	return c.judge(ctx, key, pod, known)
}

func (c *Controller) judge(ctx context.Context, key types.NamespacedName, pod *corev1.Pod, known *pending) (loop.Result, error) {
	now := c.clock.Now()
	d, err := c.decide(pod, known, now)
	if err != nil {
		return loop.Result{}, err
	}
	switch d.Verb {
	case decide.Cancel:
		c.report(key, "Cancelling deletion of Pod")
		c.set(key, nil)
	case decide.Wait:
		c.set(key, &pending{uid: pod.UID, Eviction: d.Eviction})
		return loop.Result{RequeueAfter: d.Eviction.Due.Sub(now)}, nil
	case decide.Evict:
		return loop.Result{}, c.evict(ctx, key, pod)
	}
	return loop.Result{}, nil
}

func (c *Controller) decide(pod *corev1.Pod, known *pending, now time.Time) (decide.Decision, error) {
	var before *decide.Eviction
	if known != nil {
		before = &known.Eviction
	}
	node, err := c.nodes.Get(pod.Spec.NodeName)
	switch {
	case apierrors.IsNotFound(err) && before != nil:
		if !now.Before(before.Due) {
			return decide.Decision{Verb: decide.Evict}, nil
		}
		return decide.Decision{Verb: decide.Wait, Eviction: *before}, nil
	case apierrors.IsNotFound(err):
		return decide.Decision{}, nil
	case err != nil:
		return decide.Decision{}, fmt.Errorf("getting node %s: %w", pod.Spec.NodeName, err)
	}
	return decide.Pod(pod.Spec.Tolerations, decide.NoExecute(node), before, now), nil
}

// evict deletes the pod. The entry stays until the pod is gone, so that it is deleted and
// reported only once.
func (c *Controller) evict(ctx context.Context, key types.NamespacedName, pod *corev1.Pod) error {
	c.report(key, "Marking for deletion Pod")
	if err := disruption.Mark(ctx, c.client, pod, deletion, c.clock.Now()); err != nil {
		return err
	}
	if err := executor.DeleteSame(ctx, c.client.CoreV1().Pods(key.Namespace).Delete, pod); err != nil {
		return fmt.Errorf("deleting pod %s: %w", key, err)
	}
	c.set(key, &pending{uid: pod.UID, done: true})
	// The event of its deletion may have arrived before the entry was stored.
	if _, err := c.pods.Pods(key.Namespace).Get(key.Name); apierrors.IsNotFound(err) {
		c.set(key, nil)
	}
	return nil
}

// report records the same event about a pod as upstream's controller.
func (c *Controller) report(key types.NamespacedName, what string) {
	ref := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: key.Namespace, Name: key.Name}
	c.events.Eventf(ref, corev1.EventTypeNormal, "TaintManagerEviction", "%s %s", what, key)
}
