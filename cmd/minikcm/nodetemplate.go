package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/kubeletsim"
)

// nodeFlag is a flag that sets the property of a node that setNode has under the key.
// Without a key, its value is NAME=QUANTITY of any resource.
type nodeFlag struct {
	spec           *minikcm.NodeSpec
	key, kind, now string
}

func (f *nodeFlag) String() string { return f.now }
func (f *nodeFlag) Type() string   { return f.kind }

func (f *nodeFlag) Set(text string) error {
	f.now = text
	if f.key != "" {
		return setNode(f.spec, f.key, text)
	}
	name, quantity, ok := strings.Cut(text, "=")
	if !ok || name == "label" || name == "annotation" || name == "taint" {
		return fmt.Errorf("%q is not NAME=QUANTITY, such as nvidia.com/gpu=8", text)
	}
	err := setNode(f.spec, name, quantity)
	if errors.Is(err, errNoKey) {
		return fmt.Errorf("%q is not a resource; resources are cpu, memory, ephemeral-storage, pods, and extended resources such as nvidia.com/gpu", name)
	}
	return err
}

// registerNodeFlags adds the flags for the properties of a node.
func registerNodeFlags(flags *pflag.FlagSet, spec *minikcm.NodeSpec) {
	for _, f := range []struct{ name, key, kind, usage string }{
		{"cpu", "cpu", "quantity", "CPU capacity of each node (default 32)"},
		{"memory", "memory", "quantity", "memory capacity of each node (default 256Gi)"},
		{"pods", "pods", "quantity", "maximum number of pods on each node (default 250)"},
		{"resource", "", "NAME=QUANTITY", "capacity of each node for another resource, such as nvidia.com/gpu=8; can be repeated"},
		{"label", "label", "KEY=VALUE", "label of each node; can be repeated"},
		{"taint", "taint", "KEY=VALUE:EFFECT", "taint of each node; can be repeated"},
	} {
		flags.Var(&nodeFlag{spec: spec, key: f.key, kind: f.kind}, f.name, f.usage)
	}
}

// overridden returns spec with the capacities, labels and taints of by, which take
// precedence.
func overridden(spec, by minikcm.NodeSpec) minikcm.NodeSpec {
	for name, quantity := range by.Capacity {
		if spec.Capacity == nil {
			spec.Capacity = corev1.ResourceList{}
		}
		spec.Capacity[name] = quantity
		delete(spec.Allocatable, name)
	}
	for key, value := range by.Labels {
		if spec.Labels == nil {
			spec.Labels = map[string]string{}
		}
		spec.Labels[key] = value
	}
	for i := range by.Taints {
		taint := by.Taints[i]
		spec.Taints = append(slices.DeleteFunc(spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }), taint)
	}
	return spec
}

// nextNumber returns the highest number of a pool's nodes in names, plus one.
func nextNumber(pool string, names []string) int {
	next := 0
	for _, name := range names {
		if base, number := kubeletsim.PoolOf(name); base == pool {
			next = max(next, number+1)
		}
	}
	return next
}
