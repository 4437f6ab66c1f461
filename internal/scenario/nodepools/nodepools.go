package nodepools

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Load reads the pools of a file. What is wrong with its content is a spec.Problems.
func Load(path string) ([]minikcm.Pool, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the node pools: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, spec.MaxNodePoolsBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the node pools: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the pools of data, which the errors call file.
func Parse(file string, data []byte) ([]minikcm.Pool, error) {
	described, err := spec.ParseNodePools(file, data, check)
	if err != nil {
		return nil, err
	}
	pools := make([]minikcm.Pool, len(described))
	for i := range described {
		if pools[i], err = Of(&described[i]); err != nil {
			return nil, err
		}
	}
	if err := minikcm.CheckNodes(0, minikcm.NodeSpec{}, pools); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return pools, nil
}

// check reports what no cluster accepts in a pool.
func check(c *spec.Checker, p *spec.Pool) {
	pool, err := Of(p)
	if err == nil {
		err = minikcm.CheckNodes(0, minikcm.NodeSpec{}, []minikcm.Pool{pool})
	}
	at := ""
	var in interface{ Field() string }
	if errors.As(err, &in) {
		at = in.Field()
	}
	c.Check(at, err)
}

// Of returns the pool of a description. It fails for devices that cannot be published, and for
// amounts that are not quantities.
func Of(p *spec.Pool) (minikcm.Pool, error) {
	pool := minikcm.Pool{Name: p.Name, Count: 1, Zones: p.Zones, Node: minikcm.NodeSpec{
		Labels: p.Labels, Annotations: maps.Clone(p.Annotations), Unschedulable: p.Unschedulable, KubeletVersion: p.KubeletVersion,
	}}
	if p.Nodes != nil {
		pool.Count = *p.Nodes
	}
	for _, taint := range p.Taints {
		pool.Node.Taints = append(pool.Node.Taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: corev1.TaintEffect(taint.Effect)})
	}
	var err error
	if pool.Node.Capacity, err = amounts(p.Capacity); err != nil {
		return pool, fmt.Errorf("pool %s: capacity %w", p.Name, err)
	}
	if pool.Node.Allocatable, err = amounts(p.Allocatable); err != nil {
		return pool, fmt.Errorf("pool %s: allocatable %w", p.Name, err)
	}
	for _, image := range p.Images {
		size := resource.Quantity{}
		if image.Size != "" {
			if size, err = resource.ParseQuantity(image.Size); err != nil {
				return pool, fmt.Errorf("pool %s: image %s: size: %w", p.Name, image.Name, err)
			}
		}
		pool.Node.Images = append(pool.Node.Images, minikcm.NodeImage{Name: image.Name, Size: size.Value()})
	}
	if p.ReadyDelay > 0 {
		annotate(&pool.Node, minikcm.AnnotationReadyDelay, time.Duration(p.ReadyDelay).String())
	}
	if len(p.Devices) > 0 {
		text := devices(p.Devices)
		if err := minikcm.CheckDevices(text); err != nil {
			return pool, fmt.Errorf("pool %s: devices: %w", p.Name, err)
		}
		annotate(&pool.Node, minikcm.AnnotationDevices, text)
	}
	return pool, nil
}

func annotate(node *minikcm.NodeSpec, key, value string) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[key] = value
}

// amounts parses quantities by resource.
func amounts(texts map[string]string) (corev1.ResourceList, error) {
	var list corev1.ResourceList
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		quantity, err := resource.ParseQuantity(texts[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}

// devices writes devices as minikcm.AnnotationDevices: a line for each driver.
func devices(all []spec.PoolDevices) string {
	var text strings.Builder
	for i := range all {
		d := &all[i]
		count := 1
		if d.Count != nil {
			count = *d.Count
		}
		fmt.Fprintf(&text, "%s %d", d.Driver, count)
		for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
			fmt.Fprintf(&text, " %s=%s", name, d.Attributes[name])
		}
		for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
			fmt.Fprintf(&text, " capacity.%s=%s", name, d.Capacity[name])
		}
		text.WriteString("\n")
	}
	return text.String()
}
