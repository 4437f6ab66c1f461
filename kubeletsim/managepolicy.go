package kubeletsim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ManageNodes says which Nodes are simulated that clients make through the API.
type ManageNodes string

const (
	// ManageMarked are the Nodes with AnnotationNode or AnnotationKwok. It is the default.
	ManageMarked ManageNodes = "marked"
	// ManageAll are all Nodes.
	ManageAll ManageNodes = "all"
	// ManageNone is no Node that these kubelets have not made themselves, not even one that
	// an earlier run of the process has made.
	ManageNone ManageNodes = "none"
)

// Validate refuses a value that is none of the constants or empty.
func (m ManageNodes) Validate() error {
	switch m {
	case "", ManageMarked, ManageAll, ManageNone:
		return nil
	}
	return fmt.Errorf("nodes to manage %q are none of %s, %s, %s", m, ManageMarked, ManageAll, ManageNone)
}

// manages reports whether a Node that a client created is simulated.
func (m ManageNodes) manages(object *corev1.Node) bool {
	switch m {
	case ManageAll:
		return true
	case ManageNone:
		return false
	}
	return object.Annotations[AnnotationNode] == Simulated || object.Annotations[AnnotationKwok] == kwokFake
}
