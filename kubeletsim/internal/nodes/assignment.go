package nodes

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// AnnotationAddresses of a Node has the addresses that one process assigned for all that
	// simulate nodes of one cluster together: the range of the pods and the node's own address,
	// separated by a comma.
	AnnotationAddresses = "minikcm.dev/addresses"
	// AnnotationDeclared marks a Node that a process created because its options ask for it.
	// Every process simulates such Nodes, whatever its ManagePolicy.
	AnnotationDeclared = "minikcm.dev/declared"
)

// Assignment is the addresses of a node.
type Assignment struct {
	PodRange netip.Prefix
	Address  netip.Addr
}

func (a Assignment) String() string { return fmt.Sprintf("%s,%s", a.PodRange, a.Address) }

// AssignmentOf returns the addresses that a Node was assigned; false if it has none that are
// usable.
func AssignmentOf(object *corev1.Node) (Assignment, bool) {
	first, second, _ := strings.Cut(object.Annotations[AnnotationAddresses], ",")
	podRange, err := netip.ParsePrefix(first)
	if err != nil || podRange.Bits() > podRange.Addr().BitLen()-2 || podRange.Masked() != podRange {
		return Assignment{}, false
	}
	address, err := netip.ParseAddr(second)
	return Assignment{podRange, address}, err == nil
}

// Declared returns the Node to create for a node of the options that several processes share.
func Declared(spec *Spec) *corev1.Node {
	object := ObjectFor(spec.Name, spec)
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, AnnotationDeclared, "true")
	return object
}

// IsDeclared reports whether the Node was created for the options of a process.
func IsDeclared(object *corev1.Node) bool { return object.Annotations[AnnotationDeclared] != "" }

// Place adds a node for a Node with assigned addresses, in place of an earlier one of its name.
// The node is settling until Settled.
func (t *Table) Place(object *corev1.Node, a Assignment) *Node {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.byName[object.Name]; old != nil {
		t.releaseLocked(old)
	}
	said := statementOf(object)
	said.address = a.Address
	t.blocks.hold(a.PodRange)
	n := t.makeLocked(&said, object, a.PodRange, true)
	n.uid, n.settling = object.UID, true
	t.putLocked(n)
	return n
}

// Assign returns the addresses of a Node: those that it was assigned before, those that it
// states, or new ones. It fails if no addresses are left.
func (t *Table) Assign(object *corev1.Node) (Assignment, error) {
	n := t.Get(object.Name)
	if n == nil || n.UID() != object.UID {
		if a, ok := AssignmentOf(object); ok {
			n = t.Place(object, a)
		} else {
			var err error
			if n, err = t.Adopt(object); err != nil {
				return Assignment{}, err
			}
		}
	}
	block := n.block
	if t.awaits {
		block = n.PodRange()
	}
	return Assignment{block, netip.MustParseAddr(n.Address)}, nil
}

// Withdraw removes a node of the given UID that another process simulates from now on, or that
// is gone, and releases its addresses. An empty UID means any. It returns the refused Nodes,
// which may find room now.
func (t *Table) Withdraw(name string, uid types.UID) []string {
	n := t.Get(name)
	if n == nil || uid != "" && n.UID() != uid {
		return nil
	}
	n.Lose(n.UID())
	return t.Remove(n)
}
