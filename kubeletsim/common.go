package kubeletsim

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// common has the fields that all parts of the kubelets share. A part can use these, its own fields, and the parts that it embeds
// or names, and no others.
type common struct {
	opts  Options
	loop  loops
	due   inflight.Alarms[key]
	pods  *podTable
	nodes *nodes.Table
	// shards are the nodes that this process simulates; nil means all.
	shards *shards

	informers    informers.Kinds
	nodeInformer cache.SharedIndexInformer
	podLister    corev1listers.PodLister
	nodeLister   corev1listers.NodeLister
	// begun is closed once Run manages the nodes, or has ended; ended when Run ends.
	begun chan struct{}
	ended <-chan struct{}

	mu       sync.Mutex
	handlers []handler
}

type handler struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
}

func (k *common) queuePod(uid types.UID) { k.loop.Add(podKey(string(uid))) }

// podObjects returns the pods on a node.
func (k *common) podObjects(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, uid := range k.pods.on(node) {
		if e := k.pods.get(uid); e != nil {
			if pod, gone, _ := e.look(); !gone {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// named returns the node of a name, or all nodes if it is empty.
func (k *common) named(node string) []*nodes.Node {
	names := []string{node}
	if node == "" {
		names = k.nodes.Names()
	}
	var all []*nodes.Node
	for _, name := range names {
		if n := k.nodes.Get(name); n != nil {
			all = append(all, n)
		}
	}
	return all
}

// ownsInformers reports whether Run starts and ends the informers: nothing else shares them.
func (k *common) ownsInformers() bool { return k.opts.Informers == nil }

// handle registers seen for adds and updates of an object, and lost for its deletion.
func (k *common) handle(informer cache.SharedIndexInformer, seen, lost func(obj any)) error {
	_, err := k.attend(informer, seen, lost)
	return err
}

// attend is handle, and returns the registration.
func (k *common) attend(informer cache.SharedIndexInformer, seen, lost func(obj any)) (cache.ResourceEventHandlerRegistration, error) {
	funcs := cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		lost(obj)
	}}
	funcs.AddFunc = seen
	funcs.UpdateFunc = func(_, obj any) { seen(obj) }
	registration, err := informer.AddEventHandler(funcs)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.handlers = append(k.handlers, handler{informer, registration})
	return registration, nil
}

func (k *common) waitForSync(ctx context.Context) bool {
	var synced []cache.DoneChecker
	for _, h := range k.handlers {
		synced = append(synced, h.registration.HasSyncedChecker())
	}
	return cache.WaitFor(klog.NewContext(ctx, k.opts.Logger.V(4)), Component, synced...)
}

// stop removes the handlers, drops the queued keys and ends the informers that Run has started.
func (k *common) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range k.handlers {
		// If the informer has stopped already, there is nothing to remove.
		_ = h.informer.RemoveEventHandler(h.registration)
	}
	k.loop.Close()
	k.due.Close()
	if k.ownsInformers() {
		k.informers.Shutdown()
	}
}

// offer queues a pod of which there is news, if this process simulates its node.
func (k *common) offer(pod *corev1.Pod) {
	if k.shards.owns(pod.Spec.NodeName) {
		k.loop.Offer(podKey(string(pod.UID)))
	}
}

// dropNode removes a lost node without pods.
func (k *common) dropNode(n *nodes.Node) {
	if !n.IsLost() || len(k.pods.on(n.Name)) > 0 {
		return
	}
	for _, name := range k.nodes.Remove(n) {
		k.loop.Add(nodeKey(name)) // now there is room
	}
}

// rebootPods injects a Reboot into the pods of a machine that was down.
func (k *common) rebootPods(name string) {
	for _, uid := range k.pods.on(name) {
		if e := k.pods.get(uid); e != nil {
			e.occur(lifecycle.Occurrence{Kind: lifecycle.Reboot})
		}
	}
}

func (k *common) wakePods(name string) {
	for _, uid := range k.pods.on(name) {
		k.loop.Add(podKey(string(uid)))
	}
}

// asNode returns the context of the requests that the kubelet of a node makes.
func (k *common) asNode(ctx context.Context, node string) context.Context {
	if k.opts.AsNode == nil {
		return ctx
	}
	return k.opts.AsNode(ctx, node)
}

// create creates a Node, as its kubelet if that may.
func (k *common) create(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	if k.opts.MayRegister == nil || k.opts.MayRegister(node) {
		ctx = k.asNode(ctx, node.Name)
	}
	return k.opts.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
}

// occur passes an occurrence to the worker of a pod.
func (k *common) occur(pod types.UID, o lifecycle.Occurrence) {
	if e := k.pods.get(pod); e != nil {
		e.Occur(o)
	}
}

// resize reserves the resources that the pod's spec now requests, or returns why they do not
// fit.
func (k *common) resize(n *nodes.Node, e *podEntry, pod *corev1.Pod) lifecycle.Rejection {
	if !lifecycle.WantsResize(pod, &e.state) {
		return lifecycle.Rejection{}
	}
	object, _ := k.nodeLister.Get(n.Name)
	why := n.Resize(pod, object)
	if why.Reason == "" {
		k.wakeWaiting(n) // it may be less than before
	}
	return why
}

// release releases the pod's resources and retries resizes that did not fit.
func (k *common) release(n *nodes.Node, pod *corev1.Pod) {
	n.Release(pod.UID)
	n.StopUsing(pod, k.opts.Clock.Now())
	if len(n.Pressures()) > 0 {
		k.loop.Add(pressureKey(n.Name)) // its images may be removed now
	}
	k.wakeWaiting(n)
}

func (k *common) wakeWaiting(n *nodes.Node) {
	for _, uid := range n.WaitingForResources() {
		k.loop.Add(podKey(string(uid)))
	}
}

// nodeNames returns the names of the Nodes that the informer has.
func (k *common) nodeNames() []string { return k.nodeInformer.GetStore().ListKeys() }

// manages reports whether a Node that a client created is simulated.
func (k *common) manages(object *corev1.Node) bool {
	return k.opts.ManageNodes.Manages(object) || k.shards != nil && nodes.IsDeclared(object)
}

// Simulates reports whether the node, if it is a simulated one, is simulated by this process.
func (k *common) Simulates(node string) bool { return k.shards.owns(node) }

// notSimulated returns the error of a request that needs a node's machine, which is not here.
func (k *common) notSimulated(node string) error {
	if k.shards != nil && !k.shards.owns(node) {
		return apierrors.NewInternalError(fmt.Errorf("node %s is in shard %02d, which another process on this etcd simulates: "+
			"send the request to the API server of that process, the holder of the Lease kube-system/minikcm-nodes-%02d",
			node, k.shards.of(node), k.shards.of(node)))
	}
	return apierrors.NewInternalError(fmt.Errorf("node %s is not a simulated one", node))
}

// reportNode reports events of the node.
func (k *common) reportNode(n *nodes.Node, events []lifecycle.Event) {
	if k.opts.Recorder == nil {
		return
	}
	reportNode(n.Recorder(k.opts.Recorder, Component), n.Name, n.UID(), events...)
}

func (k *common) report(n *nodes.Node, pod *corev1.Pod, events []lifecycle.Event) {
	if k.opts.Recorder == nil {
		return
	}
	recorder := n.Recorder(k.opts.Recorder, Component)
	for _, e := range events {
		recorder.Event(&corev1.ObjectReference{
			APIVersion:      "v1",
			Kind:            "Pod",
			Namespace:       pod.Namespace,
			Name:            pod.Name,
			UID:             pod.UID,
			ResourceVersion: pod.ResourceVersion,
			FieldPath:       e.FieldPath,
		}, e.Kind, e.Reason, e.Message)
	}
}
