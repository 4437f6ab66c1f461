package nodes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ManagePolicy says which Nodes are simulated that clients make through the API.
type ManagePolicy string

const (
	// ManageMarked are the Nodes with AnnotationNode or AnnotationKwok. It is the default.
	ManageMarked ManagePolicy = "marked"
	// ManageAll are all Nodes.
	ManageAll ManagePolicy = "all"
	// ManageNone is no Node that these kubelets have not made themselves, not even one that
	// an earlier run of the process has made.
	ManageNone ManagePolicy = "none"
)

// Validate refuses a value that is none of the constants or empty.
func (m ManagePolicy) Validate() error {
	switch m {
	case "", ManageMarked, ManageAll, ManageNone:
		return nil
	}
	return fmt.Errorf("nodes to manage %q are none of %s, %s, %s", m, ManageMarked, ManageAll, ManageNone)
}

// Manages reports whether a Node that a client created is simulated.
func (m ManagePolicy) Manages(object *corev1.Node) bool {
	switch m {
	case ManageAll:
		return true
	case ManageNone:
		return false
	}
	return object.Annotations[AnnotationNode] == Simulated || object.Annotations[AnnotationKwok] == kwokFake
}
