package kubeletsim

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/fabric"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
)

// Reach answers whether a connection in the cluster arrives. Its error is a *reach.InvalidError or a *reach.NotFoundError for a
// question that cannot be answered.
func (k *network) Reach(ctx context.Context, ask *reach.Ask) (*reach.Report, error) {
	return k.fabric.Answer(ctx, ask)
}

// ReachMatrix answers which workloads, or namespaces, connect to which. Its error is a *reach.InvalidError if there are too many.
func (k *network) ReachMatrix(ctx context.Context, ask *reach.MatrixAsk) (*reach.Matrix, error) {
	return k.fabric.Matrix(ctx, ask)
}

// SetClusterPolicies replaces the cluster-wide policies of the network.
func (k *network) SetClusterPolicies(all []*policy.ClusterPolicy) { k.fabric.SetClusterPolicies(all) }

// FollowReach calls changed after each change on which answers of Reach may depend, until ctx ends. Calls may overlap.
func (k *network) FollowReach(ctx context.Context, changed func()) error {
	return k.fabric.Follow(ctx, changed)
}

// ReachIn is Reach for the objects of a cluster that does not run here. What runs in their containers is what their statuses show; where
// it listens, what the image profiles among the objects and a catalog of images (ImageCatalog) say. If
// there are no EndpointSlices among them, the ready pods that a Service selects are its endpoints.
func ReachIn(catalog string, objects iter.Seq[*unstructured.Unstructured], ask *reach.Ask) (*reach.Report, error) {
	cluster, err := clusterOf(catalog, objects)
	if err != nil {
		return nil, err
	}
	return cluster.Answer(ask, byStatus)
}

// ReachMatrixIn is ReachMatrix for the objects of a cluster that does not run here, as ReachIn is Reach.
func ReachMatrixIn(catalog string, objects iter.Seq[*unstructured.Unstructured], ask *reach.MatrixAsk) (*reach.Matrix, error) {
	cluster, err := clusterOf(catalog, objects)
	if err != nil {
		return nil, err
	}
	return cluster.Matrix(ask, byStatus, func(work func()) error { work(); return nil })
}

// byStatus completes a query about pods that run elsewhere.
func byStatus(q *reach.Query) { q.Listens = Listens }

// clusterOf returns the network that objects describe.
func clusterOf(catalog string, objects iter.Seq[*unstructured.Unstructured]) (*reach.Cluster, error) {
	of := &dumped{cluster: reach.New(), spaces: map[string]bool{}}
	known, err := images.NewCatalog(catalog)
	if err != nil {
		return nil, err
	}
	of.images.UseCatalog(known)
	for object := range objects {
		if err := of.add(object); err != nil {
			return nil, fmt.Errorf("reading %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
	}
	of.complete()
	return of.cluster, nil
}

// dumped are the objects of a dump.
type dumped struct {
	cluster  *reach.Cluster
	images   images.Profiles
	services []*corev1.Service
	pods     []*corev1.Pod
	wide     []*policy.ClusterPolicy
	slices   int
	// spaces are the namespaces that an object is in.
	spaces map[string]bool
}

// read converts an object.
func read[T any](from *unstructured.Unstructured) (*T, error) {
	into := new(T)
	return into, runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into)
}

func (d *dumped) add(o *unstructured.Unstructured) error {
	d.spaces[o.GetNamespace()] = true
	switch gvk := o.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "/Namespace":
		d.cluster.Policies.SetNamespace(o.GetName(), o.GetLabels())
	case "/Node":
		node, err := read[corev1.Node](o)
		if err != nil {
			return err
		}
		d.cluster.SetNode(node)
	case "/Pod":
		pod, err := read[corev1.Pod](o)
		if err != nil {
			return err
		}
		d.pods = append(d.pods, pod)
	case "/ConfigMap":
		profile, err := read[corev1.ConfigMap](o)
		if err != nil {
			return err
		}
		d.images.Update(profile)
	case "/Service":
		service, err := read[corev1.Service](o)
		if err != nil {
			return err
		}
		d.services = append(d.services, service)
		d.cluster.Services.SetService(service)
	case discoveryv1.GroupName + "/EndpointSlice":
		slice, err := read[discoveryv1.EndpointSlice](o)
		if err != nil {
			return err
		}
		d.slices++
		d.cluster.Services.SetSlice(slice)
	case networkingv1.GroupName + "/NetworkPolicy":
		of, err := read[networkingv1.NetworkPolicy](o)
		if err != nil {
			return err
		}
		d.cluster.Policies.Set(of)
	case policy.ClusterGroup + "/" + policy.ClusterKind:
		parsed, err := policy.ParseCluster(o.Object)
		if err != nil {
			return err
		}
		d.wide = append(d.wide, parsed)
	case networkingv1.GroupName + "/IngressClass":
		class, err := read[networkingv1.IngressClass](o)
		if err != nil {
			return err
		}
		d.cluster.Routes.SetClass(class)
	case networkingv1.GroupName + "/Ingress":
		ingress, err := read[networkingv1.Ingress](o)
		if err != nil {
			return err
		}
		d.cluster.Routes.SetIngress(ingress)
	}
	return nil
}

// usualServer is the address of the name server where no Service says which it is.
const usualServer = "10.96.0.10"

// complete adds the pods, with what their images' profiles say, and what a dump may lack: namespaces, endpoints, and the name server.
func (d *dumped) complete() {
	for _, pod := range d.pods {
		d.cluster.SetPod(d.images.Annotate(pod))
	}
	d.cluster.Policies.SetClusterPolicies(d.wide)
	for name := range d.spaces {
		if name != "" && !d.cluster.Policies.HasNamespace(name) {
			d.cluster.Policies.SetNamespace(name, map[string]string{corev1.LabelMetadataName: name})
		}
	}
	d.cluster.DNS = netip.MustParseAddr(usualServer)
	for _, s := range d.services {
		if s.Namespace == metav1.NamespaceDefault && s.Name == "kubernetes" {
			if server := fabric.NameServer(s.Spec.ClusterIP); server.IsValid() {
				d.cluster.DNS = server
			}
		}
		if d.slices == 0 && len(s.Spec.Selector) > 0 {
			d.addEndpoints(s)
		}
	}
}

// addEndpoints makes slices of the pods that a Service selects, one for each pod and family.
func (d *dumped) addEndpoints(s *corev1.Service) {
	selector := labels.SelectorFromSet(s.Spec.Selector)
	for _, pod := range d.pods {
		if pod.Namespace != s.Namespace || !selector.Matches(labels.Set(pod.Labels)) || pod.Spec.NodeName == "" {
			continue
		}
		for _, address := range reach.PodAddresses(pod) {
			d.cluster.Services.SetSlice(sliceOf(s, pod, address))
		}
	}
}

// sliceOf returns an EndpointSlice of a Service with one address of a pod.
func sliceOf(s *corev1.Service, pod *corev1.Pod, address netip.Addr) *discoveryv1.EndpointSlice {
	isReady := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	serves := (isReady || s.Spec.PublishNotReadyAddresses) && pod.DeletionTimestamp == nil
	endpoint := discoveryv1.Endpoint{
		Addresses: []string{address.String()}, NodeName: &pod.Spec.NodeName, Conditions: discoveryv1.EndpointConditions{Ready: &serves},
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name},
	}
	if pod.Spec.Hostname != "" && pod.Spec.Subdomain == s.Name {
		endpoint.Hostname = &pod.Spec.Hostname
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: pod.Name + "-" + strings.ReplaceAll(address.String(), ":", "-"),
			Labels: map[string]string{discoveryv1.LabelServiceName: s.Name},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{endpoint},
	}
	if address.Is6() {
		slice.AddressType = discoveryv1.AddressTypeIPv6
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		number, protocol := hostaddress.TargetPort(&pod.Spec, p), cmp.Or(p.Protocol, corev1.ProtocolTCP)
		if number != 0 {
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &number, Protocol: &protocol})
		}
	}
	return slice
}
