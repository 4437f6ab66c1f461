package scenarios

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios/check"
	"minikcm.dev/minikcm/scenarios/format"
)

// The document of a scenario, and its parts.
type (
	Scenario = format.Scenario
	Metadata = format.Metadata
	Spec     = format.Spec
)

// Load reads the scenarios of a file and checks them. set overrides the values of its
// variables. The error is a format.Problems if something is wrong with the file.
func Load(path string, set map[string]string) ([]*Scenario, error) {
	return format.Load(path, loading(set))
}

// Parse reads scenarios from data, whose relative paths are from file's directory.
func Parse(file string, data []byte, set map[string]string) ([]*Scenario, error) {
	return format.Parse(file, data, loading(set))
}

func loading(set map[string]string) format.LoadOptions {
	return format.LoadOptions{
		Set: set, Steps: grammar(), Cluster: checkCluster, CEL: check.CompileCheck,
		Manifest: isChaos, Beside: applyBeside,
	}
}

// checkCluster refuses a description that no cluster can be started from.
func checkCluster(c *format.Checker, cluster *format.Cluster) {
	cluster.Clock = cmp.Or(cluster.Clock, string(clock.ModeVirtual))
	if _, _, err := clock.ParseMode(cluster.Clock); err != nil {
		c.Problem("clock", "%v", err)
	}
	if !c.Sound() {
		return
	}
	options, err := clusterOptions(cluster)
	if err == nil {
		err = options.Validate()
	}
	c.Check("", err)
}

// clusterOptions are those of the cluster that a scenario describes.
func clusterOptions(c *format.Cluster) (minikcm.Options, error) {
	options := minikcm.Options{
		Driven: true, // by the steps: each ends its work before the cluster's parts react
		Nodes:  -1, Seed: c.Seed, Controllers: c.Controllers, NoScheduler: c.NoScheduler, Snapshot: c.Snapshot, ServiceRanges: c.ServiceRanges,
		ManageNodes: managed(c.ManageAllNodes),
		Latencies: minikcm.Latencies{
			PodStart: time.Duration(c.StartDelay), ContainerReady: time.Duration(c.ReadyDelay), ContainerStop: time.Duration(c.ContainerStop),
		},
	}
	if c.Nodes != nil && *c.Nodes > 0 {
		options.Nodes = *c.Nodes
	}
	if options.Seed == 0 {
		options.Seed = 1
	}
	var err error
	if options.ClockMode, options.ClockFactor, err = clock.ParseMode(c.Clock); err != nil {
		return options, err
	}
	if c.Start != "" {
		if options.ClockStart, err = time.Parse(time.RFC3339, c.Start); err != nil {
			return options, fmt.Errorf("start: %w", err)
		}
	}
	for i := range c.Pools {
		pool, err := poolOf(&c.Pools[i])
		if err != nil {
			return options, err
		}
		options.Pools = append(options.Pools, pool)
	}
	return options, nil
}

func managed(all *bool) minikcm.ManageNodes {
	if all != nil && !*all {
		return minikcm.ManageMarked
	}
	return minikcm.ManageAll
}

func poolOf(p *format.Pool) (minikcm.Pool, error) {
	pool := minikcm.Pool{Name: p.Name, Count: 1, Node: minikcm.NodeSpec{
		Labels: p.Labels, Annotations: p.Annotations, Unschedulable: p.Unschedulable,
	}}
	if p.Nodes != nil {
		pool.Count = *p.Nodes
	}
	for _, taint := range p.Taints {
		pool.Node.Taints = append(pool.Node.Taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: corev1.TaintEffect(taint.Effect)})
	}
	for name, text := range p.Capacity {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return pool, fmt.Errorf("pool %s: capacity %s: %w", p.Name, name, err)
		}
		if pool.Node.Capacity == nil {
			pool.Node.Capacity = corev1.ResourceList{}
		}
		pool.Node.Capacity[corev1.ResourceName(name)] = quantity
	}
	return pool, nil
}
