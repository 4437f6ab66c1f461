package kubeletsim

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeTable holds the simulated nodes, and deals out their addresses.
type nodeTable struct {
	mu        sync.Mutex
	byName    map[string]*node
	order     []string
	blocks    blocks
	addresses nodeAddresses
	counter   int
	// refused are the Nodes that there was no room for, by name.
	refused map[string]types.UID
	// retired are the machines of nodes that were removed and that no client had made.
	retired map[string]NodeSpec
}

func newNodeTable() *nodeTable {
	return &nodeTable{byName: map[string]*node{}, refused: map[string]types.UID{}, retired: map[string]NodeSpec{}}
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
	podRange, err := t.blocks.take(pods.Value())
	if err != nil {
		return fmt.Errorf("adding node %s: %w", spec.Name, err)
	}
	t.putLocked(newNode(spec, t.addresses.take().String(), podRange))
	return nil
}

// putLocked puts in a node that holds its addresses, in place of one of its name.
func (t *nodeTable) putLocked(n *node) {
	if t.byName[n.name] == nil {
		t.order = append(t.order, n.name)
	}
	t.byName[n.name] = n
	delete(t.refused, n.name)
	delete(t.retired, n.name)
}

// restore adds a node that was removed anew; false if there is none of that name, or a
// client had made it.
func (t *nodeTable) restore(name string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	spec, ok := t.retired[name]
	if !ok {
		return false, nil
	}
	return true, t.addLocked(spec)
}

// addNumbered makes n nodes like spec, named as those that Options.Nodes asks for.
func (t *nodeTable) addNumbered(n int, spec NodeSpec) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for len(names) < n {
		spec.Name = fmt.Sprintf("%s-%d", defaultPool, t.counter)
		t.counter++
		if _, retired := t.retired[spec.Name]; retired || t.byName[spec.Name] != nil {
			continue
		}
		if err := t.addLocked(spec); err != nil {
			return names, err
		}
		names = append(names, spec.Name)
	}
	return names, nil
}

// takeOver takes up the nodes of an earlier run, with the addresses that they have,
// and adds those of specs that are not among them. Of the others, those are left out that
// manages does not want, and those that have no addresses yet.
func (t *nodeTable) takeOver(existing []*corev1.Node, specs []NodeSpec, manages func(*corev1.Node) bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	wanted := map[string]NodeSpec{}
	for _, spec := range specs {
		wanted[spec.Name] = spec
	}
	slices.SortFunc(existing, byCreation)
	for _, object := range existing {
		spec, ours := wanted[object.Name]
		if t.byName[object.Name] != nil || !ours && !manages(object) {
			continue
		}
		said := statementOf(object)
		if !said.address.IsValid() || !said.podRange.IsValid() || t.overlapsLocked(&said) {
			continue
		}
		if ours {
			said = statement{spec: spec, address: said.address, podRange: said.podRange, images: said.images}
		}
		t.blocks.hold(said.podRange)
		t.putLocked(t.makeLocked(&said, said.podRange, !ours))
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

// adopt makes a node of a Node that a client has made, in place of the lost one of its
// name, if any, whose addresses it keeps unless the Node states others. If the options or
// AddNode have asked for a node of that name, it is that one's machine. The node begins
// settling. An error says that there is no room for it.
func (t *nodeTable) adopt(object *corev1.Node) (*node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := statementOf(object)
	machine, ours := t.retired[object.Name]
	old := t.byName[object.Name]
	if old != nil {
		t.releaseLocked(old)
		said.after(old)
		machine, ours = old.spec, !old.managed
	}
	if ours {
		said.spec = machine.over(said.spec)
	}
	podRange, err := t.placeLocked(&said)
	if err != nil {
		if old != nil {
			t.holdLocked(old)
		}
		return nil, err
	}
	n := t.makeLocked(&said, podRange, !ours)
	n.uid, n.settling = object.UID, true
	t.putLocked(n)
	return n, nil
}

// placeLocked returns the range of pod addresses for a node, which the node then holds:
// what its Node states, or another if nodes would share addresses.
func (t *nodeTable) placeLocked(said *statement) (netip.Prefix, error) {
	if p := said.podRange; p.IsValid() && !t.overlapsLocked(said) {
		t.blocks.hold(p)
		return p, nil
	}
	return t.blocks.take(said.rangePods())
}

// overlapsLocked reports whether another node has pod addresses of the stated range.
func (t *nodeTable) overlapsLocked(said *statement) bool {
	for name, n := range t.byName {
		if name != said.spec.Name && n.cidr.Overlaps(said.podRange) {
			return true
		}
	}
	return false
}

// makeLocked makes a node as its Node states, with a range of pod addresses that it holds.
func (t *nodeTable) makeLocked(said *statement, podRange netip.Prefix, managed bool) *node {
	address := said.address
	if address.IsValid() {
		t.addresses.hold(address)
	} else {
		address = t.addresses.take()
	}
	n := newNode(said.spec, address.String(), podRange)
	n.managed, n.stated, n.trouble = managed, *said, said.troubles
	n.seeImages(said.images)
	return n
}

func (t *nodeTable) holdLocked(n *node) {
	t.blocks.hold(n.cidr)
	t.addresses.hold(netip.MustParseAddr(n.address))
}

func (t *nodeTable) releaseLocked(n *node) {
	t.blocks.release(n.cidr)
	t.addresses.release(netip.MustParseAddr(n.address))
}

// remove takes out a node that is lost. It returns the Nodes that there was no room for
// before, in the order of their names.
func (t *nodeTable) remove(n *node) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName[n.name] != n || !n.isLost() {
		return nil
	}
	t.releaseLocked(n)
	delete(t.byName, n.name)
	if !n.managed {
		t.retired[n.name] = n.spec
	}
	t.order = slices.DeleteFunc(t.order, func(name string) bool { return name == n.name })
	return slices.Sorted(maps.Keys(t.refused))
}

// refuse notes that there is no room for a Node; false if that is known.
func (t *nodeTable) refuse(object *corev1.Node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.refused[object.Name] == object.UID
	t.refused[object.Name] = object.UID
	return !known
}

// forget drops what is known of a refused Node that was deleted.
func (t *nodeTable) forget(object *corev1.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused[object.Name] == object.UID {
		delete(t.refused, object.Name)
	}
}

// refuses reports whether there was no room for a Node.
func (t *nodeTable) refuses(object *corev1.Node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused[object.Name] == object.UID
}

func byCreation(a, b *corev1.Node) int {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}
