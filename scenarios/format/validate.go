package format

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
)

// Defaults of a scenario's fields.
const (
	// DefaultNodes is how many nodes a cluster has that begins with no Nodes and no pools.
	DefaultNodes   = 3
	defaultTimeout = 10 * time.Minute
)

// names are what the parts of a scenario refer to.
type names struct {
	// steps are the lines where steps of a name are written.
	steps      map[string][]int
	invariants []string
	// timeout is that of the run; 0 while it is not known.
	timeout time.Duration
}

// check reports err as a problem, unless it is nil.
func (d *decoder) check(line int, field string, err error) {
	if err != nil {
		d.problem(line, field, "%v", err)
	}
}

func (d *decoder) checkScenario(s *Scenario, line int) {
	if s.APIVersion != APIVersion {
		d.problem(line, "apiVersion", "is %q, but must be %s", s.APIVersion, APIVersion)
	}
	if s.Kind != Kind {
		d.problem(line, "kind", "is %q, but must be %s", s.Kind, Kind)
	}
	switch wrong := validation.IsDNS1123Subdomain(s.Metadata.Name); {
	case s.Metadata.Name == "":
		d.problem(line, "metadata.name", "is missing")
	case len(wrong) > 0:
		d.problem(line, "metadata.name", "%q is not a name: write lower case letters, digits and '-', such as pod-kill", s.Metadata.Name)
	}
	spec := &s.Spec
	if len(spec.Steps) == 0 {
		d.problem(line, "spec.steps", "is empty: say what to do")
	}
	if d.isSet("spec.timeout") && spec.Timeout == 0 {
		d.problem(line, "spec.timeout", "must be more than 0")
	}
	if spec.Timeout == 0 {
		spec.Timeout = Duration(defaultTimeout)
	}
	d.names.timeout = time.Duration(spec.Timeout)
	d.checkCluster(&spec.Cluster, line)
	d.checkSteps(spec.Steps, "spec.steps")
	d.checkSteps(spec.Finally, "spec.finally")
	for i := range spec.Invariants {
		d.checkInvariant(&spec.Invariants[i], fmt.Sprintf("spec.invariants[%d]", i))
	}
	if least := LeastTime(spec.Steps); least > time.Duration(spec.Timeout) {
		d.problem(line, "spec.timeout", "is %v, but the steps sleep for %v alone: it cannot pass", time.Duration(spec.Timeout), least)
	}
}

func (d *decoder) checkCluster(c *Cluster, line int) {
	const field = "spec.cluster"
	checker := &Checker{d: d, line: line, field: field, before: len(*d.problems)}
	if c.Nodes == nil && len(c.Objects) == 0 {
		c.Nodes = ptr.To(DefaultNodes)
		if len(c.Pools) > 0 {
			c.Nodes = ptr.To(0)
		}
	}
	if c.Nodes != nil && *c.Nodes < 0 {
		d.problem(line, field+".nodes", "must not be negative: %d", *c.Nodes)
	}
	if c.Start != "" {
		if _, err := time.Parse(time.RFC3339, c.Start); err != nil {
			d.problem(line, field+".start", "%q is not a time as RFC 3339 writes it, such as 2026-03-29T00:00:00Z", c.Start)
		}
	}
	if c.Snapshot != "" {
		_, err := d.read(d.path(c.Snapshot))
		d.check(line, field+".snapshot", notThere(d.path(c.Snapshot), err))
		c.Snapshot = d.path(c.Snapshot)
	}
	d.checkObjectPaths(c, line, field+".objects")
	seen := []string{}
	for i := range c.Pools {
		p := &c.Pools[i]
		at := fmt.Sprintf("%s.pools[%d]", field, i)
		if slices.Contains(seen, p.Name) {
			d.problem(line, at+".name", "there are two pools called %s", p.Name)
		}
		seen = append(seen, p.Name)
		d.checkPool(p, line, at)
	}
	if d.options.Cluster != nil {
		d.options.Cluster(checker, c)
	}
}

// checkObjectPaths makes the paths of objects to begin with lead from anywhere.
func (d *decoder) checkObjectPaths(c *Cluster, line int, field string) {
	for i, path := range c.Objects {
		c.Objects[i] = d.path(path)
		_, err := os.Stat(c.Objects[i])
		d.check(line, fmt.Sprintf("%s[%d]", field, i), notThere(c.Objects[i], err))
	}
	if c.RedactSecrets && len(c.Objects) == 0 {
		d.problem(line, "spec.cluster.redactSecrets", "is for objects, which are missing")
	}
}

func (d *decoder) checkPool(p *Pool, line int, at string) {
	if wrong := validation.IsDNS1123Subdomain(p.Name); len(wrong) > 0 {
		d.problem(line, at+".name", "%q is not a name: its nodes are called NAME-0 and so on", p.Name)
	}
	if p.Nodes == nil {
		p.Nodes = ptr.To(1)
	}
	if *p.Nodes < 0 {
		d.problem(line, at+".nodes", "must not be negative: %d", *p.Nodes)
	}
	for name, quantity := range p.Capacity {
		if _, err := resource.ParseQuantity(quantity); err != nil {
			d.problem(line, at+".capacity."+name, "%q is not a quantity, such as 4, 500m or 16Gi", quantity)
		}
	}
	effects := []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}
	for j, taint := range p.Taints {
		if taint.Key == "" {
			d.problem(line, fmt.Sprintf("%s.taints[%d].key", at, j), "is missing")
		}
		if !slices.Contains(effects, taint.Effect) {
			d.problem(line, fmt.Sprintf("%s.taints[%d].effect", at, j), "%q is not an effect; %s", taint.Effect, DidYouMean(taint.Effect, effects))
		}
	}
}

// dir is the folder of the file that is read.
func (d *decoder) dir() string { return filepath.Dir(d.file) }
