package devicedriver

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/devicedriver/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is the controller's name, and Account the name of its service account. Upstream has neither.
const (
	Name    = "simulated-device-driver"
	Account = "simulated-device-driver"
)

const slicesByNode = "minikcm.dev/simulated-slices-by-node"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Account: Account,
		About:   "publishes the simulated devices of nodes, as the drivers of devices do (not one of upstream's)",
		Watches: []string{"nodes", "resourceslices", "deviceclasses"}, Writes: []string{"resourceslices", "deviceclasses"},
		Docs:  "concepts/scheduling-eviction/dynamic-resource-allocation/",
		Build: build,
	}
}

// Controller publishes devices. Its keys are Nodes.
type Controller struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	slices   cache.Indexer
	classes  resourcelisters.DeviceClassLister
}

func build(p *controller.Parts) error {
	nodes := p.Informers.Nodes()
	slices, classes := p.Informers.ResourceSlices().Informer(), p.Informers.DeviceClasses()
	c := &Controller{client: p.Client, recorder: p.Recorder.For(p.Name), slices: slices.GetIndexer(), classes: classes.Lister()}
	if _, has := c.slices.GetIndexers()[slicesByNode]; !has {
		if err := c.slices.AddIndexers(cache.Indexers{slicesByNode: indexSlice}); err != nil {
			return fmt.Errorf("indexing ResourceSlices by their nodes: %w", err)
		}
	}
	l := p.Loop(controller.Each(nodes.Informer(), c.reconcile))
	l.Watch(nodes.Informer(), onNode)
	l.Watch(slices, onSlice)
	l.Watch(classes.Informer(), loop.None)
	return nil
}

func indexSlice(obj any) ([]string, error) {
	if slice, ok := obj.(*resourcev1.ResourceSlice); ok && decide.Simulated(slice) && slice.Spec.NodeName != nil {
		return []string{*slice.Spec.NodeName}, nil
	}
	return nil, nil
}

// onNode wakes a Node whose annotation is new or has changed. The garbage collector deletes the
// slices of a deleted one.
func onNode(ev loop.Event) []types.NamespacedName {
	was := ""
	if ev.Old != nil && ev.Old.GetUID() == ev.Object.GetUID() {
		was = ev.Old.GetAnnotations()[decide.Annotation]
	}
	if ev.Type == loop.Deleted || ev.Object.GetAnnotations()[decide.Annotation] == was {
		return nil
	}
	return loop.Self(ev)
}

// onSlice wakes the Node of a slice that may differ from the Node's annotation.
func onSlice(ev loop.Event) []types.NamespacedName {
	names, _ := indexSlice(ev.Object)
	if len(names) == 0 {
		return nil
	}
	return []types.NamespacedName{{Name: names[0]}}
}

// reconcile publishes the devices of a Node.
func (c *Controller) reconcile(ctx context.Context, node *corev1.Node) (loop.Result, error) {
	if node.DeletionTimestamp != nil {
		return loop.Result{}, nil
	}
	drivers, invalid := decide.Parse(node.Annotations[decide.Annotation])
	if invalid != nil {
		c.recorder.Eventf(node, corev1.EventTypeWarning, "InvalidSimulation", "annotation %s: %v", decide.Annotation, invalid)
	}
	return loop.Result{}, errors.Join(c.provideClasses(ctx, drivers), c.publish(ctx, node, drivers))
}

// provideClasses creates the classes of drivers that have none.
func (c *Controller) provideClasses(ctx context.Context, drivers []decide.Driver) error {
	exists := func(name string) bool {
		_, err := c.classes.Get(name)
		return err == nil
	}
	for _, class := range decide.Missing(drivers, exists) {
		_, err := c.client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating DeviceClass %s: %w", class.Name, err)
		}
	}
	return nil
}

// publish writes the slices of a Node.
func (c *Controller) publish(ctx context.Context, node *corev1.Node, drivers []decide.Driver) error {
	objects, err := c.slices.ByIndex(slicesByNode, node.Name)
	if err != nil {
		return fmt.Errorf("listing the ResourceSlices of node %s: %w", node.Name, err)
	}
	var existing []*resourcev1.ResourceSlice
	for _, obj := range objects {
		if slice, ok := obj.(*resourcev1.ResourceSlice); ok {
			existing = append(existing, slice)
		}
	}
	p, client := decide.Slices(node, drivers, existing), c.client.ResourceV1().ResourceSlices()
	for _, slice := range p.Delete {
		err := client.Delete(ctx, slice.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(slice.UID))})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting ResourceSlice %s: %w", slice.Name, err)
		}
	}
	for _, slice := range p.Update {
		if _, err := client.Update(ctx, slice, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("updating ResourceSlice %s: %w", slice.Name, err)
		}
	}
	for _, slice := range p.Create {
		if _, err := client.Create(ctx, slice, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating ResourceSlice %s: %w", slice.Name, err)
		}
	}
	return nil
}
