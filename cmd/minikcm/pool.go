package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/scenarios/fault"
)

// parsePool parses the value of --pool: KEY=VALUE pairs, separated by commas.
func parsePool(text string) (minikcm.Pool, error) {
	pool := minikcm.Pool{Count: 1}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return pool, fmt.Errorf("%q is not KEY=VALUE; an example is name=a,nodes=4,cpu=4,memory=8Gi", pair)
		}
		if err := setPool(&pool, key, value); err != nil {
			return pool, err
		}
	}
	return pool, minikcm.CheckNodes(0, minikcm.NodeSpec{}, []minikcm.Pool{pool})
}

func setPool(pool *minikcm.Pool, key, value string) error {
	switch key {
	case "name":
		pool.Name = value
	case "nodes":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return fmt.Errorf("nodes=%s is not a whole number from 0 to %d", value, minikcm.MaxNodes)
		}
		pool.Count = n
	default:
		err := setNode(&pool.Node, key, value)
		if errors.Is(err, errNoKey) {
			return fmt.Errorf("unknown key %q; the keys are name, nodes, cpu, memory, ephemeral-storage, pods, label, annotation, taint, and extended resources such as nvidia.com/gpu", key)
		}
		return err
	}
	return nil
}

// errNoKey is the error for an unknown key.
var errNoKey = errors.New("unknown key")

// setNode sets the property of a node that the key names. Labels, annotations and taints
// are added to those already set. It returns errNoKey for an unknown key.
func setNode(spec *minikcm.NodeSpec, key, value string) error {
	switch key {
	case "label":
		return addPair(&spec.Labels, key, value)
	case "annotation":
		return addPair(&spec.Annotations, key, value)
	case "taint":
		taint, err := fault.ParseTaint(value)
		if err != nil {
			return err
		}
		spec.Taints = append(spec.Taints, taint)
		return nil
	case "cpu", "memory", "ephemeral-storage", "pods":
	default:
		if !strings.Contains(key, "/") {
			return errNoKey
		}
	}
	quantity, err := resource.ParseQuantity(value)
	if err != nil {
		return fmt.Errorf("%s=%s is not a quantity, such as 4, 500m or 16Gi", key, value)
	}
	if spec.Capacity == nil {
		spec.Capacity = corev1.ResourceList{}
	}
	spec.Capacity[corev1.ResourceName(key)] = quantity
	return nil
}

func addPair(pairs *map[string]string, what, text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return fmt.Errorf("%s=%s is not %s=KEY=VALUE", what, text, what)
	}
	if *pairs == nil {
		*pairs = map[string]string{}
	}
	(*pairs)[key] = value
	return nil
}
