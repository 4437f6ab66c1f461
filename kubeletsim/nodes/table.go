package nodes

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

// Table holds the simulated nodes, and deals out their addresses.
type Table struct {
	mu        sync.Mutex
	byName    map[string]*Node
	order     []string
	blocks    blocks
	addresses nodeAddresses
	counter   int
	// refused are the Nodes that there was no room for, by name.
	refused map[string]types.UID
	// retired are the machines of nodes that were removed and that no client had made.
	retired map[string]Spec
}

func NewTable() *Table {
	return &Table{byName: map[string]*Node{}, refused: map[string]types.UID{}, retired: map[string]Spec{}}
}

func (t *Table) Get(name string) *Node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[name]
}

// Names lists the nodes in the order in which they were added.
func (t *Table) Names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.order)
}

// Add makes a node with addresses of its own.
func (t *Table) Add(spec Spec) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addLocked(spec)
}

func (t *Table) addLocked(spec Spec) error {
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
func (t *Table) putLocked(n *Node) {
	if t.byName[n.Name] == nil {
		t.order = append(t.order, n.Name)
	}
	t.byName[n.Name] = n
	delete(t.refused, n.Name)
	delete(t.retired, n.Name)
}

// Restore adds a node that was removed anew; false if there is none of that name, or a
// client had made it.
func (t *Table) Restore(name string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	spec, ok := t.retired[name]
	if !ok {
		return false, nil
	}
	return true, t.addLocked(spec)
}

// AddNumbered makes n nodes like spec, named as those that Options.Nodes asks for.
func (t *Table) AddNumbered(n int, spec Spec) ([]string, error) {
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

// TakeOver takes up the nodes of an earlier run, with the addresses that they have,
// and adds those of specs that are not among them. Of the others, those are left out that
// manages does not want, and those that have no addresses yet.
func (t *Table) TakeOver(existing []*corev1.Node, specs []Spec, manages func(*corev1.Node) bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	wanted := map[string]Spec{}
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

// Adopt makes a node of a Node that a client has made, in place of the lost one of its
// name, if any, whose addresses it keeps unless the Node states others. If the options or
// AddNode have asked for a node of that name, it is that one's machine. The node begins
// settling. An error says that there is no room for it.
func (t *Table) Adopt(object *corev1.Node) (*Node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := statementOf(object)
	machine, ours := t.retired[object.Name]
	old := t.byName[object.Name]
	if old != nil {
		t.releaseLocked(old)
		said.after(old)
		machine, ours = old.spec, !old.Managed
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
func (t *Table) placeLocked(said *statement) (netip.Prefix, error) {
	if p := said.podRange; p.IsValid() && !t.overlapsLocked(said) {
		t.blocks.hold(p)
		return p, nil
	}
	return t.blocks.take(said.rangePods())
}

// overlapsLocked reports whether another node has pod addresses of the stated range.
func (t *Table) overlapsLocked(said *statement) bool {
	for name, n := range t.byName {
		if name != said.spec.Name && n.PodRange.Overlaps(said.podRange) {
			return true
		}
	}
	return false
}

// makeLocked makes a node as its Node states, with a range of pod addresses that it holds.
func (t *Table) makeLocked(said *statement, podRange netip.Prefix, managed bool) *Node {
	address := said.address
	if address.IsValid() {
		t.addresses.hold(address)
	} else {
		address = t.addresses.take()
	}
	n := newNode(said.spec, address.String(), podRange)
	n.Managed, n.stated, n.troubled = managed, *said, said.troubles
	n.seeImages(said.images)
	return n
}

func (t *Table) holdLocked(n *Node) {
	t.blocks.hold(n.PodRange)
	t.addresses.hold(netip.MustParseAddr(n.Address))
}

func (t *Table) releaseLocked(n *Node) {
	t.blocks.release(n.PodRange)
	t.addresses.release(netip.MustParseAddr(n.Address))
}

// Remove takes out a node that is lost. It returns the Nodes that there was no room for
// before, in the order of their names.
func (t *Table) Remove(n *Node) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName[n.Name] != n || !n.IsLost() {
		return nil
	}
	t.releaseLocked(n)
	delete(t.byName, n.Name)
	if !n.Managed {
		t.retired[n.Name] = n.spec
	}
	t.order = slices.DeleteFunc(t.order, func(name string) bool { return name == n.Name })
	return slices.Sorted(maps.Keys(t.refused))
}

// Refuse notes that there is no room for a Node; false if that is known.
func (t *Table) Refuse(object *corev1.Node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.refused[object.Name] == object.UID
	t.refused[object.Name] = object.UID
	return !known
}

// Forget drops what is known of a refused Node that was deleted.
func (t *Table) Forget(object *corev1.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused[object.Name] == object.UID {
		delete(t.refused, object.Name)
	}
}

// Refuses reports whether there was no room for a Node.
func (t *Table) Refuses(object *corev1.Node) bool {
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
