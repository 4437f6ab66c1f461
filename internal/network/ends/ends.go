package ends

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Workload returns the kind of a workload by a name that kubectl knows; empty if it is none.
func Workload(kind string) string {
	switch strings.ToLower(kind) {
	case "deployment", "deployments", "deploy":
		return "Deployment"
	case "replicaset", "replicasets", "rs":
		return "ReplicaSet"
	case "statefulset", "statefulsets", "sts":
		return "StatefulSet"
	case "daemonset", "daemonsets", "ds":
		return "DaemonSet"
	case "job", "jobs":
		return "Job"
	}
	return ""
}

// Belongs reports whether a workload controls a pod. A Deployment does so by a ReplicaSet, whose name ends with the hash of the
// pod's template.
func Belongs(pod *corev1.Pod, kind, name string) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return false
	}
	if kind == "Deployment" {
		return owner.Kind == "ReplicaSet" && owner.Name == name+"-"+pod.Labels["pod-template-hash"]
	}
	return owner.Kind == kind && owner.Name == name
}

// Owner names the workload that controls a pod, such as deploy/web, or the pod itself if none does.
func Owner(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return "pod/" + pod.Name
	}
	if hash := pod.Labels["pod-template-hash"]; owner.Kind == "ReplicaSet" && hash != "" {
		if name, ok := strings.CutSuffix(owner.Name, "-"+hash); ok {
			return "deploy/" + name
		}
	}
	for short, kind := range map[string]string{"rs": "ReplicaSet", "sts": "StatefulSet", "ds": "DaemonSet", "job": "Job"} {
		if kind == owner.Kind {
			return short + "/" + owner.Name
		}
	}
	return "pod/" + pod.Name
}

// Peer is one end of a connection.
type Peer struct {
	Address netip.Addr
	// Pod has the address; nil: no pod has.
	Pod *corev1.Pod
	// Node is the node that the pod is on, or that has the address; empty if it is outside of the cluster. Zone is the node's.
	Node, Zone string
	// APIServer means that the API server has the address.
	APIServer bool
	// Services returns the Services that the connection is for, and each one that has the address as an endpoint; nil: none.
	Services func() []types.NamespacedName
}

// The kinds of an End beside the kinds of workloads.
const (
	Everything = "*"
	Outside    = "outside"
	APIServer  = "apiserver"
	Pod        = "Pod"
	Node       = "Node"
	Zone       = "zone"
	Namespace  = "Namespace"
	Service    = "Service"
	Labels     = "labels"
	Addresses  = "addresses"
)

// End selects ends of connections.
type End struct {
	// Kind is one of the constants, or the kind of a workload. Namespace and Name are an object's.
	Kind, Namespace, Name string

	text     string
	selector labels.Selector
	prefix   netip.Prefix
}

// String returns the text.
func (e *End) String() string { return e.text }

// Selector returns the selector of an End of the kind Labels, as text.
func (e *End) Selector() string { return e.selector.String() }

// usage says how an End is written.
const usage = `write KEY=VALUE (labels of pods), pod/NAME, deploy/NAME and other workloads, svc/NAME, namespace/NAME, node/NAME, zone/NAME, an address or network, apiserver, outside, or * (all)`

// Parse reads an End. Objects are in the namespace, unless the text is KIND/NAMESPACE/NAME.
func Parse(namespace, text string) (End, error) {
	e := End{text: text, Namespace: namespace}
	kind, name, isObject := strings.Cut(text, "/")
	switch prefix, err := parsePrefix(text); {
	case text == Everything, text == Outside, text == APIServer:
		e.Kind = text
		return e, nil
	case err == nil:
		e.Kind, e.prefix = Addresses, prefix
		return e, nil
	}
	if e.Kind = kindOf(kind); isObject && e.Kind != "" {
		if before, after, both := strings.Cut(name, "/"); both && e.Kind != Node && e.Kind != Zone && e.Kind != Namespace {
			e.Namespace, name = before, after
		}
		if e.Name = name; name == "" || e.Namespace == "" || strings.Contains(name, "/") {
			return e, fmt.Errorf("%q has no name: %s", text, usage)
		}
		return e, nil
	}
	selector, err := labels.Parse(text)
	if err != nil || selector.Empty() || !strings.ContainsAny(text, "=!() ") {
		return e, fmt.Errorf("%q selects nothing: %s", text, usage)
	}
	e.Kind, e.selector = Labels, selector
	return e, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

func kindOf(kind string) string {
	switch strings.ToLower(kind) {
	case "pod", "pods", "po":
		return Pod
	case "node", "nodes", "no":
		return Node
	case "zone":
		return Zone
	case "namespace", "namespaces", "ns":
		return Namespace
	case "service", "services", "svc":
		return Service
	}
	return Workload(kind)
}

// Selects reports whether a peer is selected.
func (e *End) Selects(p *Peer) bool {
	switch e.Kind {
	case Everything:
		return true
	case Outside:
		return p.Pod == nil && p.Node == "" && !p.APIServer
	case APIServer:
		return p.APIServer
	case Node:
		return p.Node == e.Name
	case Zone:
		return p.Zone == e.Name
	case Addresses:
		return e.prefix.Contains(p.Address)
	case Service:
		return p.Services != nil && slices.Contains(p.Services(), types.NamespacedName{Namespace: e.Namespace, Name: e.Name})
	}
	if p.Pod == nil {
		return false
	}
	switch e.Kind {
	case Namespace:
		return p.Pod.Namespace == e.Name
	case Pod:
		return p.Pod.Name == e.Name && p.Pod.Namespace == e.Namespace
	case Labels:
		return p.Pod.Namespace == e.Namespace && e.selector.Matches(labels.Set(p.Pod.Labels))
	}
	return p.Pod.Namespace == e.Namespace && Belongs(p.Pod, e.Kind, e.Name)
}

// Set selects what one of its Ends selects; everything if it is empty.
type Set []End

// Selects reports whether a peer is selected.
func (s Set) Selects(p *Peer) bool {
	return len(s) == 0 || slices.ContainsFunc(s, func(e End) bool { return e.Selects(p) })
}
