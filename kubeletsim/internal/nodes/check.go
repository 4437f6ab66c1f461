package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
)

// Check validates the nodes and pools of the options: it returns an error for values that the
// API would reject, duplicate names, and more nodes than MaxNodes.
func Check(nodes int, node Spec, pools []Pool) error {
	if err := node.Validate(); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	total := min(nodes, MaxNodes+1)
	for i := range pools {
		if err := checkPool(&pools[i]); err != nil {
			return fmt.Errorf("pool %q: %w", pools[i].Name, err)
		}
		total += min(pools[i].Count, MaxNodes+1)
	}
	if total > MaxNodes {
		return ErrTooManyNodes
	}
	table := NewTable()
	for _, spec := range Specs(nodes, node, pools) {
		if table.Get(spec.Name) != nil {
			return fmt.Errorf("two pools have a node %s; give each pool a name of its own (the nodes of a pool without a name are called %s-0 and so on, as those of no pool are)", spec.Name, DefaultPool)
		}
		if err := table.Add(spec); err != nil {
			return err
		}
	}
	return nil
}

func checkPool(pool *Pool) error {
	if pool.Count < 0 {
		return fmt.Errorf("it has %d nodes, which must not be negative", pool.Count)
	}
	if pool.Name != "" {
		if wrong := validation.IsDNS1123Subdomain(pool.Name); len(wrong) > 0 {
			return fmt.Errorf("it cannot begin the names of nodes: %s", wrong[0])
		}
	}
	for _, zone := range pool.Zones {
		if err := checkLabels(map[string]string{corev1.LabelTopologyZone: zone}); err != nil {
			return err
		}
	}
	return pool.Node.Validate()
}

// fieldError is an error in a field of a pool, as files and the API spell it.
type fieldError struct {
	field string
	error
}

// Field returns the field, such as capacity.cpu.
func (e *fieldError) Field() string { return e.field }

func (e *fieldError) Unwrap() error { return e.error }

// in says in which field err is, if it is one.
func in(field string, err error) error {
	if err == nil {
		return nil
	}
	return &fieldError{field, err}
}

// Validate returns an error for values that the API would reject in a Node. If one field has it, the error has the method Field.
func (s *Spec) Validate() error {
	if err := checkLabels(s.Labels); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		if wrong := validation.IsQualifiedName(strings.ToLower(key)); len(wrong) > 0 {
			return in("annotations", fmt.Errorf("annotation %q: %s", key, wrong[0]))
		}
	}
	for i := range s.Taints {
		if err := checkTaint(&s.Taints[i]); err != nil {
			return in(fmt.Sprintf("taints[%d]", i), err)
		}
	}
	if err := checkAmounts("capacity", s.Capacity); err != nil {
		return err
	}
	if err := checkAmounts("allocatable", s.Allocatable); err != nil {
		return err
	}
	if err := s.checkMachine(); err != nil {
		return err
	}
	pods := s.capacity()[corev1.ResourcePods]
	if most := int64(1<<maxRangeBits - 3); pods.Value() > most {
		return in("capacity.pods", fmt.Errorf("capacity pods=%s: one node has addresses for at most %d", pods.String(), most))
	}
	return nil
}

// checkMachine checks the delay until the node is ready, the version of its kubelet, and its images.
func (s *Spec) checkMachine() error {
	if _, err := ReadyDelay(s.Annotations); err != nil {
		return err
	}
	if s.KubeletVersion != "" {
		if _, err := version.ParseSemantic(s.KubeletVersion); err != nil {
			return in("kubeletVersion", fmt.Errorf("kubelet version %q is not a version such as v1.36.1", s.KubeletVersion))
		}
	}
	for _, image := range s.Images {
		if image.Name == "" || strings.ContainsAny(image.Name, " \t\r\n") {
			return fmt.Errorf("image %q is not a reference such as nginx:1.29", image.Name)
		}
		if image.Size < 0 {
			return fmt.Errorf("image %s: the size %d must not be negative", image.Name, image.Size)
		}
	}
	return nil
}

func checkLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
			return fmt.Errorf("label %q: %s", key, wrong[0])
		}
		if wrong := validation.IsValidLabelValue(labels[key]); len(wrong) > 0 {
			return fmt.Errorf("label %s=%q: %s", key, labels[key], wrong[0])
		}
	}
	return nil
}

func checkTaint(t *corev1.Taint) error {
	if wrong := validation.IsQualifiedName(t.Key); len(wrong) > 0 {
		return fmt.Errorf("taint %q: %s", t.Key, wrong[0])
	}
	if wrong := validation.IsValidLabelValue(t.Value); len(wrong) > 0 {
		return fmt.Errorf("taint %s=%q: %s", t.Key, t.Value, wrong[0])
	}
	switch t.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return nil
	}
	return fmt.Errorf("taint %s: effect %q is none of %s, %s, %s", t.Key, t.Effect,
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}

func checkAmounts(field string, amounts corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		if err := checkAmount(field, name, amounts[name]); err != nil {
			return in(field+"."+string(name), err)
		}
	}
	return nil
}

func checkAmount(field string, name corev1.ResourceName, quantity resource.Quantity) error {
	if wrong := validation.IsQualifiedName(string(name)); len(wrong) > 0 {
		return fmt.Errorf("resource %q: %s", name, wrong[0])
	}
	if !kubeletReports(name) && !strings.Contains(string(name), "/") {
		return fmt.Errorf("resource %q is none of cpu, memory, ephemeral-storage, pods, hugepages-SIZE, and no extended resource such as example.com/gpu", name)
	}
	if quantity.Sign() < 0 {
		return fmt.Errorf("%s %s=%s must not be negative", field, name, quantity.String())
	}
	if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage && quantity.MilliValue()%1000 != 0 {
		return fmt.Errorf("%s %s=%s must be a whole number", field, name, quantity.String())
	}
	return nil
}
