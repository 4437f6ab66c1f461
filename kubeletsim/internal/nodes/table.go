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

// Table holds the simulated nodes and assigns their addresses.
type Table struct {
	// awaits means that the ranges of pod addresses are those that a controller gives to the
	// Nodes: the table assigns none.
	awaits bool
	// inCloud means that each node has to ask the simulated cloud for its instance.
	inCloud bool
	// families are the IP families of the nodes and their pods.
	families Families
	mu       sync.Mutex
	// keepsHealth means that nodes go on as their Nodes state, as far as these are not Ready or under
	// pressure.
	keepsHealth bool
	byName      map[string]*Node
	order       []string
	blocks      blocks
	addresses   nodeAddresses
	counter     int
	// refused are the Nodes for which no addresses were left, by name.
	refused map[string]types.UID
	// retired are the specs of removed nodes that no client had created.
	retired map[string]Spec
}

func NewTable() *Table {
	return &Table{byName: map[string]*Node{}, refused: map[string]types.UID{}, retired: map[string]Spec{}}
}

// NewAwaitingTable returns a table that does not assign ranges of pod addresses.
func NewAwaitingTable() *Table {
	t := NewTable()
	t.awaits = true
	return t
}

// InCloud makes nodes that are added ask the simulated cloud for their instance before they act. It
// precedes all other calls.
func (t *Table) InCloud() { t.inCloud = true }

// Speak makes nodes and pods have addresses of the given families. It precedes all other calls.
func (t *Table) Speak(families Families) { t.families = families }

// KeepHealth makes nodes that are not Ready or under pressure, by what their Nodes state, stay so until
// a fault ends that. It is about nodes that are added afterwards.
func (t *Table) KeepHealth() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keepsHealth = true
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

// Add adds a node and assigns its addresses. It fails if the name is taken or no addresses are
// left.
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
	if t.awaits {
		t.putLocked(newNode(spec, t.addresses.take().String()))
		return nil
	}
	pods := spec.capacity()[corev1.ResourcePods]
	podRange, err := t.blocks.take(pods.Value())
	if err != nil {
		return fmt.Errorf("adding node %s: %w", spec.Name, err)
	}
	n := newNode(spec, t.addresses.take().String(), t.families.ranges(podRange)...)
	n.block = podRange
	t.putLocked(n)
	return nil
}

// putLocked adds a node whose addresses are allocated, in place of one with its name.
func (t *Table) putLocked(n *Node) {
	if t.byName[n.Name] == nil {
		t.order = append(t.order, n.Name)
	}
	n.unasked = t.inCloud
	if !t.inCloud { // the cloud has IPv4 addresses
		n.families = t.families
	}
	n.hostIPs = hostIPsOf(n.reportedAddresses())
	t.byName[n.Name] = n
	delete(t.refused, n.Name)
	delete(t.retired, n.Name)
}

// Restore adds a removed node again; false if there is none of that name, or a client had
// created it.
func (t *Table) Restore(name string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	spec, ok := t.retired[name]
	if !ok {
		return false, nil
	}
	return true, t.addLocked(spec)
}

// AddNumbered adds n nodes like spec with the next free numbered names. On an error it returns
// the names added before.
func (t *Table) AddNumbered(n int, spec Spec) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for len(names) < n {
		spec.Name = fmt.Sprintf("%s-%d", DefaultPool, t.counter)
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

// TakeOver adds the nodes of an earlier process with their addresses, then the nodes of specs that
// do not exist yet. It skips Nodes that manages rejects and Nodes without addresses.
func (t *Table) TakeOver(existing []*corev1.Node, specs []Spec, manages func(*corev1.Node) bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	wanted := map[string]Spec{}
	for _, spec := range specs {
		wanted[spec.Name] = spec
	}
	slices.SortFunc(existing, ByCreation)
	for _, object := range existing {
		spec, ours := wanted[object.Name]
		if t.byName[object.Name] != nil || !ours && !manages(object) {
			continue
		}
		said := statementOf(object)
		if !said.address.IsValid() || !t.awaits && (!said.podRange.IsValid() || t.overlapsLocked(&said)) {
			continue
		}
		if ours {
			said = statement{spec: spec, address: said.address, podRange: said.podRange, images: said.images, pressed: said.pressed, notReady: said.notReady, networkAt: said.networkAt}
		}
		t.blocks.hold(said.podRange)
		t.putLocked(t.makeLocked(&said, object, said.podRange, !ours))
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

// Adopt adds a node for a Node that a client created. It replaces a lost node of the same name
// and keeps its addresses, unless the Node states others. If the options or AddNode asked for a
// node of that name, their spec applies. The node is settling until Settled. Adopt fails if no
// addresses are left.
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
	n := t.makeLocked(&said, object, podRange, !ours)
	n.uid, n.settling = object.UID, true
	t.putLocked(n)
	return n, nil
}

// placeLocked returns and holds a range of pod addresses: the one that the Node states, or
// another if it would overlap.
func (t *Table) placeLocked(said *statement) (netip.Prefix, error) {
	if t.awaits {
		return netip.Prefix{}, nil
	}
	if p := said.podRange; p.IsValid() && !t.overlapsLocked(said) {
		t.blocks.hold(p)
		return p, nil
	}
	return t.blocks.take(said.rangePods())
}

// rangesLocked returns the ranges of a node's pod addresses: an awaiting table takes them from the Node, another
// derives them from the given range. A Node with the given range, but none of another family, has that only.
func (t *Table) rangesLocked(object *corev1.Node, assigned netip.Prefix) []netip.Prefix {
	if t.awaits {
		return rangesOf(object)
	}
	if len(object.Spec.PodCIDRs) == 1 && object.Spec.PodCIDRs[0] == assigned.String() {
		return []netip.Prefix{assigned}
	}
	return t.families.ranges(assigned)
}

// overlapsLocked reports whether another node's range overlaps the stated one.
func (t *Table) overlapsLocked(said *statement) bool {
	for name, n := range t.byName {
		if name != said.spec.Name && n.block.Overlaps(said.podRange) {
			return true
		}
	}
	return false
}

// makeLocked makes a node from a statement and an allocated range.
func (t *Table) makeLocked(said *statement, object *corev1.Node, block netip.Prefix, managed bool) *Node {
	address := said.address
	if address.IsValid() {
		t.addresses.hold(address)
	} else {
		address = t.addresses.take()
	}
	n := newNode(said.spec, address.String(), t.rangesLocked(object, block)...)
	n.block = block
	n.Managed, n.stated, n.troubled = managed, *said, said.troubles
	n.networkAt = said.networkAt
	n.seeImages(said.images)
	if t.keepsHealth {
		n.keepHealth(said)
	} else {
		n.resume(said.pressed)
	}
	return n
}

func (t *Table) holdLocked(n *Node) {
	if !t.awaits {
		t.blocks.hold(n.block)
	}
	t.addresses.hold(netip.MustParseAddr(n.Address))
}

func (t *Table) releaseLocked(n *Node) {
	if !t.awaits {
		t.blocks.release(n.block)
	}
	t.addresses.release(netip.MustParseAddr(n.Address))
}

// Remove removes a lost node. It returns the refused Nodes, sorted, which may find room now.
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

// Refuse records that no addresses are left for a Node; false if that was recorded before.
func (t *Table) Refuse(object *corev1.Node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.refused[object.Name] == object.UID
	t.refused[object.Name] = object.UID
	return !known
}

// Forget drops the record of a refused Node that was deleted.
func (t *Table) Forget(object *corev1.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused[object.Name] == object.UID {
		delete(t.refused, object.Name)
	}
}

// Refuses reports whether the Node was refused.
func (t *Table) Refuses(object *corev1.Node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused[object.Name] == object.UID
}

// ByCreation orders Nodes by their age, then by name.
func ByCreation(a, b *corev1.Node) int {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}
