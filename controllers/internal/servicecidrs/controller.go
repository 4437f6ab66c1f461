package servicecidrs

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/record"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/servicecidrs/decide"
	"minikcm.dev/minikcm/internal/loop"
)

// Name is upstream's name of the controller.
const Name = "service-cidr-controller"

// Descriptor describes the controller.
func Descriptor() controller.Descriptor {
	return controller.Descriptor{
		Name: Name, Workers: 5, Account: "service-cidrs-controller",
		About:   "protects ServiceCIDRs whose addresses are in use",
		Watches: []string{"servicecidrs", "ipaddresses"}, Writes: []string{"servicecidrs", "servicecidrs/status"},
		Docs:  "concepts/services-networking/cluster-ip-allocation/",
		Build: build,
	}
}

// Controller protects ServiceCIDRs. Its keys are their names.
type Controller struct {
	clock  clock.Clock
	client kubernetes.Interface
	cidrs  networkinglisters.ServiceCIDRLister
	ips    networkinglisters.IPAddressLister
	events record.EventRecorder
}

func build(p *controller.Parts) error {
	c := &Controller{
		clock:  p.Clock,
		client: p.Client,
		cidrs:  p.Informers.ServiceCIDRs().Lister(),
		ips:    p.Informers.IPAddresses().Lister(),
		events: p.Recorder.For(p.Name),
	}
	l := p.Loop(controller.Each(p.Informers.ServiceCIDRs().Informer(), c.reconcile))
	l.Watch(p.Informers.ServiceCIDRs().Informer(), c.wakeForCIDR)
	l.Watch(p.Informers.IPAddresses().Informer(), c.wakeForIP)
	return nil
}

// wakeForCIDR also enqueues the ServiceCIDRs being deleted that overlap one which is added
// or removed: they may not be needed any longer, or be needed again.
func (c *Controller) wakeForCIDR(ev loop.Event) []types.NamespacedName {
	keys := loop.Self(ev)
	cidr, ok := ev.Object.(*networkingv1.ServiceCIDR)
	if !ok {
		return keys
	}
	return append(keys, c.going(func(other *networkingv1.ServiceCIDR) bool {
		return other.Name != cidr.Name && decide.Overlap(cidr, other)
	})...)
}

// wakeForIP enqueues the ServiceCIDRs whose deletion an address blocks or no longer blocks.
func (c *Controller) wakeForIP(ev loop.Event) []types.NamespacedName {
	ip, err := netip.ParseAddr(ev.Object.GetName())
	if err != nil || ev.Type == loop.Updated {
		return nil
	}
	return c.going(func(cidr *networkingv1.ServiceCIDR) bool { return decide.Contains(cidr, ip) })
}

// going returns the keys of the matching ServiceCIDRs that are being deleted.
func (c *Controller) going(match func(*networkingv1.ServiceCIDR) bool) []types.NamespacedName {
	return loop.KeysOf(c.cidrs.List, func(cidr *networkingv1.ServiceCIDR) bool { return cidr.DeletionTimestamp != nil && match(cidr) })
}

// reconcile updates one ServiceCIDR.
func (c *Controller) reconcile(ctx context.Context, cidr *networkingv1.ServiceCIDR) (loop.Result, error) {
	all, err := c.cidrs.List(labels.Everything())
	if err != nil {
		return loop.Result{}, fmt.Errorf("listing service CIDRs: %w", err)
	}
	var ips []*networkingv1.IPAddress
	if cidr.DeletionTimestamp != nil {
		if ips, err = c.ips.List(labels.Everything()); err != nil {
			return loop.Result{}, fmt.Errorf("listing IP addresses: %w", err)
		}
	}
	decision := decide.ServiceCIDR(cidr, all, ips, c.clock.Now())
	if err := c.write(ctx, cidr, decision); err != nil && !apierrors.IsNotFound(err) {
		return loop.Result{}, fmt.Errorf("updating service CIDR %s: %w", cidr.Name, err)
	}
	return loop.Result{RequeueAfter: decision.Wait}, nil
}

func (c *Controller) write(ctx context.Context, cidr *networkingv1.ServiceCIDR, decision decide.Decision) error {
	cidrs := c.client.NetworkingV1().ServiceCIDRs()
	if decision.SetFinalizers {
		changed := cidr.DeepCopy()
		changed.Finalizers = decision.Finalizers
		var err error
		if cidr, err = cidrs.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if decision.Condition == nil {
		return nil
	}
	changed := cidr.DeepCopy()
	meta.SetStatusCondition(&changed.Status.Conditions, *decision.Condition)
	_, err := cidrs.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
		c.events.Eventf(cidr, corev1.EventTypeWarning, "KubernetesServiceCIDRError", "The ServiceCIDR Status can not be set to Ready=%s", decision.Condition.Status)
	}
	return err
}
