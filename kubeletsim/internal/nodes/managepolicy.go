package nodes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ManagePolicy selects which of the Nodes that clients create are simulated.
type ManagePolicy string

const (
	// ManageMarked selects Nodes with AnnotationNode or AnnotationKwok. It is the default.
	ManageMarked ManagePolicy = "marked"
	// ManageAll selects all Nodes.
	ManageAll ManagePolicy = "all"
	// ManageNone selects no Node that these kubelets have not created themselves, not even one
	// that an earlier process created.
	ManageNone ManagePolicy = "none"
)

// Validate returns an error for a value that is neither empty nor one of the constants.
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
