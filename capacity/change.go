package capacity

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Verb is what a Change does.
type Verb string

const (
	// Drain cordons nodes and evicts their pods, as kubectl drain does.
	Drain Verb = "drain"
	// Remove deletes nodes. Their pods are lost.
	Remove Verb = "remove"
	// Add adds copies of a node.
	Add Verb = "add"
	// Scale sets the replicas of a workload.
	Scale Verb = "scale"
)

// Change is one change of a fork.
type Change struct {
	Verb Verb `json:"verb"`
	// Nodes are the nodes to drain or to remove.
	Nodes []string `json:"nodes,omitempty"`
	// Count is the number of nodes to add, and Like the node to copy.
	Count int    `json:"count,omitempty"`
	Like  string `json:"like,omitempty"`
	// Target is the workload to scale to Replicas.
	Target   *Target `json:"target,omitempty"`
	Replicas int     `json:"replicas,omitempty"`
}

// Target is a workload.
type Target struct {
	// Kind is a kind, resource or short name, as in kubectl.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (t *Target) String() string { return t.Kind + "/" + t.Name + " in " + t.Namespace }

func (c *Change) String() string {
	switch c.Verb {
	case Add:
		return fmt.Sprintf("add %d like %s", c.Count, c.Like)
	case Scale:
		return fmt.Sprintf("scale %s to %d", c.Target, c.Replicas)
	default:
		return string(c.Verb) + " " + strings.Join(c.Nodes, " ")
	}
}

// InputError is an error in a question. It is returned before anything is changed.
type InputError struct{ error }

func (e InputError) Unwrap() error { return e.error }

func input(format string, args ...any) error { return InputError{fmt.Errorf(format, args...)} }

// maxAdded caps the nodes of one Add. MaxReplicas caps the replicas of a workload.
const (
	maxAdded    = 3072
	MaxReplicas = 100_000
)

const knownChanges = "the changes are drain NODE..., remove NODE..., add N like NODE and scale KIND/NAME=N..."

// ParseChanges parses the changes of a command line, separated by commas: drain NODE...,
// remove NODE..., add N like NODE, scale KIND/NAME=N.... Workloads are in the given namespace
// unless they are written as NAMESPACE/KIND/NAME. The error is an InputError.
func ParseChanges(words []string, namespace string) ([]Change, error) {
	var all []Change
	for part := range strings.SplitSeq(strings.Join(words, " "), ",") {
		fields := strings.Fields(part)
		if len(fields) == 0 {
			continue
		}
		changes, err := parseChange(Verb(fields[0]), fields[1:], namespace)
		if err != nil {
			return nil, InputError{err}
		}
		all = append(all, changes...)
	}
	if len(all) == 0 {
		return nil, input("no change is given; %s", knownChanges)
	}
	return all, nil
}

func parseChange(verb Verb, words []string, namespace string) ([]Change, error) {
	switch verb {
	case Drain, Remove:
		if len(words) == 0 {
			return nil, fmt.Errorf("%s needs the name of a node, such as %s node-1", verb, verb)
		}
		return []Change{{Verb: verb, Nodes: words}}, nil
	case Add:
		if len(words) != 3 || words[1] != "like" {
			return nil, errors.New("add is written as: add 3 like node-1")
		}
		n, err := strconv.Atoi(words[0])
		if err != nil || n < 1 || n > maxAdded {
			return nil, fmt.Errorf("add %s: the number of nodes must be between 1 and %d", words[0], maxAdded)
		}
		return []Change{{Verb: Add, Count: n, Like: words[2]}}, nil
	case Scale:
		if len(words) == 0 {
			return nil, errors.New("scale needs a workload, such as scale deployment/web=10")
		}
		var all []Change
		for _, word := range words {
			c, err := parseScale(word, namespace)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
		return all, nil
	}
	return nil, fmt.Errorf("unknown change %q; %s", verb, knownChanges)
}

func parseScale(word, namespace string) (Change, error) {
	name, number, ok := strings.Cut(word, "=")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n > MaxReplicas {
		return Change{}, fmt.Errorf("scale %s: write it as KIND/NAME=N with N between 0 and %d, such as deployment/web=10", word, MaxReplicas)
	}
	target, err := ParseTarget(name, namespace)
	if err != nil {
		return Change{}, fmt.Errorf("scale %s: %w", word, err)
	}
	return Change{Verb: Scale, Target: target, Replicas: n}, nil
}

// ParseTarget parses KIND/NAME, which is in the given namespace, or NAMESPACE/KIND/NAME. The
// error is an InputError.
func ParseTarget(text, namespace string) (*Target, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		namespace, parts = parts[0], parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" || namespace == "" {
		return nil, input("%q is not KIND/NAME or NAMESPACE/KIND/NAME, such as deployment/web", text)
	}
	return &Target{Kind: parts[0], Namespace: namespace, Name: parts[1]}, nil
}
