package nodes

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// Spec describes a node. The zero value is the default node.
type Spec struct {
	// Name is the node's name. AddNode requires it; pools and AddNodes set it.
	Name string
	// Labels, Annotations and Taints are added to the defaults of every node.
	Labels      map[string]string
	Annotations map[string]string
	Taints      []corev1.Taint
	// Capacity overrides the default per resource: 32 CPUs, 256Gi of memory,
	// 1Ti of ephemeral storage and 250 pods (upstream's kubelet takes 110; 250
	// lets ten nodes hold 2,000 pods, and fits a /24 of addresses).
	Capacity corev1.ResourceList
	// Allocatable defaults to the capacity.
	Allocatable corev1.ResourceList
	// Unschedulable registers the node cordoned.
	Unschedulable bool
	// Images are on the node from the beginning. They need not be pulled.
	Images []lifecycle.Image
	// KubeletVersion is the version that the node reports. Default: the options' KubeletVersion.
	KubeletVersion string
}

// Pool is a number of equal nodes, named Name-0, Name-1 and so on.
type Pool struct {
	// Name defaults to "node".
	Name  string
	Count int
	Node  Spec
	// Zones are the values of the label topology.kubernetes.io/zone, which the nodes get in turn.
	// Empty: the nodes have no zone, unless Node has the label.
	Zones []string
}

// DefaultPool is the name of nodes without a named pool.
const DefaultPool = "node"

// Specs lists the nodes to begin with, in order: count nodes like spec, then the nodes of the pools.
func Specs(count int, spec Spec, pools []Pool) []Spec {
	var specs []Spec
	for _, pool := range append([]Pool{{Count: count, Node: spec}}, pools...) {
		for i := range pool.Count {
			specs = append(specs, pool.NodeAt(i))
		}
	}
	return specs
}

// NodeAt returns the node with a number.
func (p *Pool) NodeAt(number int) Spec {
	spec := p.Node
	spec.Name = fmt.Sprintf("%s-%d", cmp.Or(p.Name, DefaultPool), number)
	if len(p.Zones) > 0 {
		spec.Labels = withZone(spec.Labels, p.Zones[number%len(p.Zones)])
	}
	return spec
}

// PoolOf returns the pool and the number in the name of a node. The pool is empty for a name without a number.
func PoolOf(name string) (pool string, number int) {
	at := strings.LastIndexByte(name, '-')
	if at < 1 || strings.Trim(name[at+1:], "0123456789") != "" {
		return "", 0
	}
	number, err := strconv.Atoi(name[at+1:])
	if err != nil { // there is none, or it is too large
		return "", 0
	}
	return name[:at], number
}

// withZone returns a copy of labels with the label of a zone.
func withZone(labels map[string]string, zone string) map[string]string {
	all := make(map[string]string, len(labels)+1)
	maps.Copy(all, labels)
	all[corev1.LabelTopologyZone] = zone
	return all
}

// Names returns the names of count nodes without a pool and of the pools' nodes, in the
// order in which they are made.
func Names(count int, pools []Pool) []string {
	specs := Specs(count, Spec{}, pools)
	names := make([]string, len(specs))
	for i := range specs {
		names[i] = specs[i].Name
	}
	return names
}

func (s *Spec) capacity() corev1.ResourceList {
	capacity := defaultCapacity()
	for name, quantity := range s.Capacity {
		capacity[name] = quantity
	}
	return capacity
}

func (s *Spec) allocatable() corev1.ResourceList {
	allocatable := s.capacity()
	for name, quantity := range s.Allocatable {
		allocatable[name] = quantity
	}
	return allocatable
}

// Versions are the versions that simulated nodes report.
type Versions struct {
	Kubelet string
	// Runtime is the version of the simulated container runtime.
	Runtime string
}
