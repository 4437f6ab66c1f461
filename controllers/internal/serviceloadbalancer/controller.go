package serviceloadbalancer

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const (
	Name        = "service-lb-controller"
	eventSource = "service-controller"
)

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Aliases: []string{"service"}, Account: "service-controller",
		About:   "gives Services of type LoadBalancer simulated addresses",
		Watches: []string{"services", "nodes"}, Writes: []string{"services/status"},
		Docs: "concepts/services-networking/service/#loadbalancer",
		Concurrency: controller.Concurrency{Flag: "concurrent-service-syncs", What: "load balancers", In: func(s *controller.Settings) *int32 {
			return &s.ServiceController.ConcurrentServiceSyncs
		}},
		Build: build,
	}
}

// Controller manages simulated load balancers. Its keys are Services.
type Controller struct {
	client   kubernetes.Interface
	nodes    corelisters.NodeLister
	balancer *balancer
	events   record.EventRecorder
}

func build(p *controller.Parts) error {
	c := &Controller{
		client:   p.Client,
		nodes:    p.Informers.Nodes().Lister(),
		balancer: newBalancer(p.LoadBalancers),
		events:   p.Recorder.For(eventSource),
	}
	l := p.Loop(controller.Each(p.Informers.Services().Informer(), c.reconcile))
	l.Watch(p.Informers.Services().Informer(), c.wakeForService)
	l.Watch(p.Informers.Nodes().Informer(), c.wakeForNode)
	return nil
}

// wakeForService enqueues Services that have or want a load balancer. It records the
// addresses that another process has assigned before the controller chooses any other.
func (c *Controller) wakeForService(ev loop.Event) []types.NamespacedName {
	service, ok := ev.Object.(*corev1.Service)
	if !ok {
		return nil
	}
	old, _ := ev.Old.(*corev1.Service)
	switch {
	case ev.Type == loop.Deleted:
		c.balancer.remove(service.UID)
		return nil
	case ev.Type == loop.Added:
		c.balancer.adopt(service)
	case old != nil && !differs(old, service) && old.DeletionTimestamp == nil && service.DeletionTimestamp == nil:
		return nil
	}
	if wants(service) || hasFinalizer(service) || old != nil && wants(old) {
		return loop.Self(ev)
	}
	return nil
}

// wakeForNode enqueues all Services with load balancers when a node is added, removed or
// excluded.
func (c *Controller) wakeForNode(ev loop.Event) []types.NamespacedName {
	node, ok := ev.Object.(*corev1.Node)
	if !ok {
		return nil
	}
	if old, ok := ev.Old.(*corev1.Node); ok && isTarget(old) == isTarget(node) {
		return nil
	}
	return c.balancer.services()
}

// reconcile configures or deletes the load balancer of one Service.
func (c *Controller) reconcile(ctx context.Context, service *corev1.Service) (loop.Result, error) {
	all, err := c.nodes.List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing nodes: %w", err)
	}
	nodes := targets(all)
	last, lastNodes, exists := c.balancer.last(service.UID)
	switch Decide(service, last, exists, nodes, lastNodes) {
	case Ensure:
		err = c.ensure(ctx, service, nodes)
	case Remove:
		err = c.remove(ctx, service, exists)
	case NewNodes:
		c.tellNodes(service, nodes)
		c.balancer.done(service, nodes)
	case Settled:
		c.balancer.done(service, nodes)
	case Nothing:
	}
	if err == nil || apierrors.IsNotFound(err) {
		return loop.Result{}, nil
	}
	if !apierrors.IsConflict(err) && ctx.Err() == nil {
		c.events.Eventf(service, corev1.EventTypeWarning, "SyncLoadBalancerFailed", "Error syncing load balancer: %v", err)
	}
	return loop.Result{}, err
}

func (c *Controller) ensure(ctx context.Context, service *corev1.Service, nodes string) error {
	c.events.Event(service, corev1.EventTypeNormal, "EnsuringLoadBalancer", "Ensuring load balancer")
	current := service
	if !hasFinalizer(service) {
		var err error
		if current, err = c.setFinalizers(ctx, service, append(slices.Clone(service.Finalizers), finalizer)); err != nil {
			return fmt.Errorf("failed to add load balancer cleanup finalizer: %w", err)
		}
	}
	if nodes == "" {
		c.events.Event(service, corev1.EventTypeWarning, "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")
	}
	addresses, err := c.balancer.ensure(service)
	if err != nil {
		return fmt.Errorf("failed to ensure load balancer: %w", err)
	}
	c.events.Event(service, corev1.EventTypeNormal, "EnsuredLoadBalancer", "Ensured load balancer")
	vip := corev1.LoadBalancerIPModeVIP
	var status corev1.LoadBalancerStatus
	for _, ip := range addresses {
		status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{IP: ip.String(), IPMode: &vip})
	}
	if _, err := c.setStatus(ctx, current, status); err != nil {
		return err
	}
	c.balancer.done(service, nodes)
	return nil
}

func (c *Controller) remove(ctx context.Context, service *corev1.Service, exists bool) error {
	if exists {
		c.events.Event(service, corev1.EventTypeNormal, "DeletingLoadBalancer", "Deleting load balancer")
		c.balancer.remove(service.UID)
	}
	// Write the status first: the Service may be gone after its finalizer is removed.
	current := service
	if service.DeletionTimestamp == nil {
		var err error
		if current, err = c.setStatus(ctx, service, corev1.LoadBalancerStatus{}); err != nil {
			return err
		}
	}
	if hasFinalizer(service) {
		rest := slices.DeleteFunc(slices.Clone(service.Finalizers), func(f string) bool { return f == finalizer })
		if _, err := c.setFinalizers(ctx, current, rest); err != nil {
			return fmt.Errorf("failed to remove load balancer cleanup finalizer: %w", err)
		}
	}
	c.events.Event(service, corev1.EventTypeNormal, "DeletedLoadBalancer", "Deleted load balancer")
	return nil
}

func (c *Controller) tellNodes(service *corev1.Service, nodes string) {
	if nodes == "" {
		c.events.Event(service, corev1.EventTypeWarning, "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")
		return
	}
	c.events.Event(service, corev1.EventTypeNormal, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
}

// setFinalizers writes the finalizers through the status subresource, as upstream does,
// because the role of the controller does not allow other updates. It returns the stored
// Service.
func (c *Controller) setFinalizers(ctx context.Context, service *corev1.Service, finalizers []string) (*corev1.Service, error) {
	changed := service.DeepCopy()
	changed.Finalizers = finalizers
	return c.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
}

func (c *Controller) setStatus(ctx context.Context, service *corev1.Service, status corev1.LoadBalancerStatus) (*corev1.Service, error) {
	if apiequality.Semantic.DeepEqual(service.Status.LoadBalancer, status) {
		return service, nil
	}
	changed := service.DeepCopy()
	changed.Status.LoadBalancer = status
	stored, err := c.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to update load balancer status: %w", err)
	}
	return stored, nil
}
