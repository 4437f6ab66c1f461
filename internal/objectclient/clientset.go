package objectclient

import (
	"context"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
)

// clientset is client-go's clientset with short ways for some kinds.
type clientset struct {
	kubernetes.Interface
	client *Client
}

func (c clientset) CoreV1() corev1client.CoreV1Interface {
	return core{c.Interface.CoreV1(), c.client}
}

func (c clientset) CoordinationV1() coordinationv1client.CoordinationV1Interface {
	return coordination{c.Interface.CoordinationV1(), c.client}
}

func (c clientset) EventsV1() eventsv1client.EventsV1Interface {
	return events{c.Interface.EventsV1(), c.client}
}

type core struct {
	corev1client.CoreV1Interface
	client *Client
}

// The interfaces of client-go are embedded one level below the short ways, which so hide their methods.
type (
	podsThrough       struct{ corev1client.PodInterface }
	nodesThrough      struct{ corev1client.NodeInterface }
	coreEventsThrough struct{ corev1client.EventInterface }
	eventsThrough     struct{ eventsv1client.EventInterface }
	leasesThrough     struct {
		coordinationv1client.LeaseInterface
	}
)

type pods struct {
	podsThrough
	typed[corev1.Pod, *corev1.Pod]
	statuses[corev1.Pod, *corev1.Pod]
}

func (c core) Pods(namespace string) corev1client.PodInterface {
	slow := c.CoreV1Interface.Pods(namespace)
	of := typed[corev1.Pod, *corev1.Pod]{c.client, corev1.SchemeGroupVersion.WithKind("Pod"), "pods", namespace, slow}
	return pods{podsThrough{slow}, of, statuses[corev1.Pod, *corev1.Pod]{of, slow}}
}

// Bind binds a pod to a node (POST pods/NAME/binding).
func (p pods) Bind(ctx context.Context, binding *corev1.Binding, opts metav1.CreateOptions) error {
	r := p.request(http.MethodPost, binding.Name, "binding")
	r.Body, r.BodyKind = binding, "Binding"
	if query := queryOf(opts.FieldManager, opts.DryRun, opts.FieldValidation); query != nil && binding.Name != "" {
		r.Query = *query
		var ok bool
		if ctx, ok = p.typed.client.Do(ctx, r, nil); ok {
			return nil
		}
	}
	return p.podsThrough.Bind(ctx, binding, opts)
}

type nodes struct {
	nodesThrough
	typed[corev1.Node, *corev1.Node]
	statuses[corev1.Node, *corev1.Node]
}

func (c core) Nodes() corev1client.NodeInterface {
	slow := c.CoreV1Interface.Nodes()
	of := typed[corev1.Node, *corev1.Node]{c.client, corev1.SchemeGroupVersion.WithKind("Node"), "nodes", "", slow}
	return nodes{nodesThrough{slow}, of, statuses[corev1.Node, *corev1.Node]{of, slow}}
}

type coreEvents struct {
	coreEventsThrough
	typed[corev1.Event, *corev1.Event]
}

func (c core) Events(namespace string) corev1client.EventInterface {
	slow := c.CoreV1Interface.Events(namespace)
	return coreEvents{coreEventsThrough{slow}, typed[corev1.Event, *corev1.Event]{c.client, corev1.SchemeGroupVersion.WithKind("Event"), "events", namespace, slow}}
}

type events struct {
	eventsv1client.EventsV1Interface
	client *Client
}

type seriesEvents struct {
	eventsThrough
	typed[eventsv1.Event, *eventsv1.Event]
}

func (e events) Events(namespace string) eventsv1client.EventInterface {
	slow := e.EventsV1Interface.Events(namespace)
	return seriesEvents{eventsThrough{slow}, typed[eventsv1.Event, *eventsv1.Event]{e.client, eventsv1.SchemeGroupVersion.WithKind("Event"), "events", namespace, slow}}
}

type coordination struct {
	coordinationv1client.CoordinationV1Interface
	client *Client
}

type leases struct {
	leasesThrough
	typed[coordinationv1.Lease, *coordinationv1.Lease]
}

func (c coordination) Leases(namespace string) coordinationv1client.LeaseInterface {
	slow := c.CoordinationV1Interface.Leases(namespace)
	return leases{leasesThrough{slow}, typed[coordinationv1.Lease, *coordinationv1.Lease]{c.client, coordinationv1.SchemeGroupVersion.WithKind("Lease"), "leases", namespace, slow}}
}
