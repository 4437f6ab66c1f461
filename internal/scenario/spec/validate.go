package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
)

// Defaults of a scenario's fields.
const (
	// DefaultNodes is the number of nodes of a cluster that begins with no Nodes and no pools.
	DefaultNodes   = 3
	defaultTimeout = 10 * time.Minute
)

// names are the names that parts of a scenario refer to.
type names struct {
	// steps are the lines where steps of a name are written.
	steps      map[string][]int
	invariants []string
	// timeout is the run's timeout; 0 while it is not known.
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
		if len(c.Pools) > 0 || c.Snapshot != "" {
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
	d.checkPaths(c.Objects, line, field+".objects")
	d.checkPaths(c.Stages, line, field+".stages")
	if c.RedactSecrets && len(c.Objects) == 0 {
		d.problem(line, field+".redactSecrets", "is for objects, which are missing")
	}
	d.checkPools(c.Pools, line, field+".pools")
	if d.options.Cluster != nil {
		d.options.Cluster(checker, c)
	}
}

// checkPaths resolves the paths of files and folders to begin with.
func (d *decoder) checkPaths(paths []string, line int, field string) {
	for i, path := range paths {
		paths[i] = d.path(path)
		_, err := os.Stat(paths[i])
		d.check(line, fmt.Sprintf("%s[%d]", field, i), notThere(paths[i], err))
	}
}

// dir is the folder of the file that is read.
func (d *decoder) dir() string { return filepath.Dir(d.file) }
