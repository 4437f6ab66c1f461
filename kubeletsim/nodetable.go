package kubeletsim

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// nodeTable holds the simulated nodes, and deals out their addresses.
type nodeTable struct {
	mu      sync.Mutex
	byName  map[string]*node
	order   []string
	blocks  blocks
	counter int
	// taken are nodes' addresses that an earlier run gave out; next is the number of
	// the next one to give.
	taken map[netip.Addr]bool
	next  int
}

func newNodeTable() *nodeTable {
	return &nodeTable{byName: map[string]*node{}, taken: map[netip.Addr]bool{}}
}

func (t *nodeTable) get(name string) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[name]
}

// names lists the nodes in the order in which they were added.
func (t *nodeTable) names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.order)
}

// add makes a node with addresses of its own.
func (t *nodeTable) add(spec NodeSpec) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addLocked(spec)
}

func (t *nodeTable) addLocked(spec NodeSpec) error {
	if spec.Name == "" {
		return fmt.Errorf("adding a node: it has no name")
	}
	if t.byName[spec.Name] != nil {
		return fmt.Errorf("adding node %s: there is one of that name", spec.Name)
	}
	pods := spec.capacity()[corev1.ResourcePods]
	cidr, err := t.blocks.take(pods.Value())
	if err != nil {
		return fmt.Errorf("adding node %s: %w", spec.Name, err)
	}
	address := nodeAddress(t.next)
	for t.taken[address] {
		t.next++
		address = nodeAddress(t.next)
	}
	t.next++
	t.putLocked(newNode(spec, address.String(), cidr))
	return nil
}

func (t *nodeTable) putLocked(n *node) {
	t.byName[n.name] = n
	t.order = append(t.order, n.name)
}

// addNumbered makes n nodes like spec, named as those that Options.Nodes asks for.
func (t *nodeTable) addNumbered(n int, spec NodeSpec) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for len(names) < n {
		spec.Name = fmt.Sprintf("%s-%d", defaultPool, t.counter)
		t.counter++
		if t.byName[spec.Name] != nil {
			continue
		}
		if err := t.addLocked(spec); err != nil {
			return names, err
		}
		names = append(names, spec.Name)
	}
	return names, nil
}

// adopt takes up the nodes of an earlier run, with the addresses that they have,
// and adds those of specs that are not among them.
func (t *nodeTable) adopt(existing []*corev1.Node, specs []NodeSpec) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	wanted := map[string]NodeSpec{}
	for _, spec := range specs {
		wanted[spec.Name] = spec
	}
	slices.SortFunc(existing, byCreation)
	for _, object := range existing {
		spec, ours := wanted[object.Name]
		if !ours {
			if object.Annotations[AnnotationNode] != simulated {
				continue
			}
			spec = specOf(object)
		}
		if t.byName[object.Name] != nil {
			continue
		}
		address, errAddress := netip.ParseAddr(addressOf(object))
		cidr, errCIDR := netip.ParsePrefix(object.Spec.PodCIDR)
		if errAddress != nil || errCIDR != nil {
			// It was made by somebody else, without addresses.
			wanted[object.Name] = spec
			if !ours {
				specs = append(specs, spec)
			}
			continue
		}
		t.taken[address] = true
		t.blocks.skip(cidr)
		n := newNode(spec, address.String(), cidr)
		n.seeImages(object.Status.Images)
		t.putLocked(n)
	}
	for _, spec := range specs {
		if t.byName[spec.Name] != nil {
			continue
		}
		if err := t.addLocked(spec); err != nil {
			return err
		}
	}
	return nil
}

func byCreation(a, b *corev1.Node) int {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	if a.Name < b.Name {
		return -1
	}
	return 1
}

// specOf describes a node of the API by what it says of itself.
func specOf(object *corev1.Node) NodeSpec {
	return NodeSpec{Name: object.Name, Capacity: object.Status.Capacity, Allocatable: object.Status.Allocatable}
}

func addressOf(object *corev1.Node) string {
	for _, a := range object.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
