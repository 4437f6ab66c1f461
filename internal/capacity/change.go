package capacity

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Verb names the kind of a Change.
type Verb string

const (
	// Drain cordons nodes and evicts their pods, as kubectl drain does.
	Drain Verb = "drain"
	// Remove deletes nodes. Their pods are lost.
	Remove Verb = "remove"
	// Crash takes the machines of nodes down, for good.
	Crash Verb = "crash"
	// Upgrade replaces nodes by new ones of the same kind, some at a time.
	Upgrade Verb = "upgrade"
	// Add adds copies of a node.
	Add Verb = "add"
	// Consolidate drains and removes the nodes whose pods fit on the others.
	Consolidate Verb = "consolidate"
	// Load multiplies the load of a Service's or workload's pods, which autoscalers follow.
	Load Verb = "load"
	// Apply applies the objects of a file, as kubectl apply does.
	Apply Verb = "apply"
	// Scale sets the replicas of a workload.
	Scale Verb = "scale"
)

// Change is one change of a fork.
type Change struct {
	Verb Verb `json:"verb"`
	// Selected holds the question's selectors of nodes to drain, remove or crash; Nodes are the nodes
	// that they select.
	Selected []NodeSelector `json:"-"`
	Nodes    []string       `json:"nodes,omitempty"`
	// Count is the number of nodes to add, and Like the node to copy.
	Count int    `json:"count,omitempty"`
	Like  string `json:"like,omitempty"`
	// Surge is the number of nodes that an upgrade replaces at a time.
	Surge int `json:"surge,omitempty"`
	// File is the file or folder of the objects to apply, in Namespace if they have none.
	File      string `json:"file,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	objects   []*unstructured.Unstructured
	// Target is the workload to scale to Replicas, or whose load is multiplied by Factor.
	Target   *Target `json:"target,omitempty"`
	Replicas int     `json:"replicas,omitempty"`
	Factor   float64 `json:"factor,omitempty"`
}

// Target is a workload.
type Target struct {
	// Kind is a kind, resource or short name, as in kubectl.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	// ofPod means that the workload stands for a Pod, as which it is shown.
	ofPod bool
}

func (t *Target) String() string {
	shown := t.shown()
	return shown.Kind + "/" + shown.Name + " in " + shown.Namespace
}

// shown returns the target as the question names it.
func (t *Target) shown() Target {
	if t.ofPod {
		return Target{Kind: "pod", Namespace: t.Namespace, Name: t.Name}
	}
	return *t
}

func (c *Change) String() string {
	switch c.Verb {
	case Add:
		return fmt.Sprintf("add %d like %s", c.Count, c.Like)
	case Scale:
		return fmt.Sprintf("scale %s to %d", c.Target, c.Replicas)
	case Apply:
		return "apply " + c.File
	case Load:
		return fmt.Sprintf("load %s x%v", c.Target, c.Factor)
	case Upgrade:
		return fmt.Sprintf("upgrade %s surge %d", selected(c.Selected), c.Surge)
	default:
		return strings.TrimSpace(string(c.Verb) + " " + selected(c.Selected))
	}
}

// InputError is an error in a question. It is returned before anything is changed.
type InputError struct{ error }

func (e InputError) Unwrap() error { return e.error }

func input(format string, args ...any) error { return InputError{fmt.Errorf(format, args...)} }
