package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/nodepools"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// The document of a scenario, and its parts.
type (
	Scenario = spec.Scenario
	Metadata = spec.Metadata
	Spec     = spec.Spec
)

// Load reads the scenarios of a file and checks them. set overrides the values of its
// variables. The error is a spec.Problems if something is wrong with the file.
func Load(path string, set map[string]string) ([]*Scenario, error) {
	return spec.Load(path, loading(set))
}

// Parse reads scenarios from data, whose relative paths are from file's directory.
func Parse(file string, data []byte, set map[string]string) ([]*Scenario, error) {
	return spec.Parse(file, data, loading(set))
}

// ParseAlone reads the one scenario of a text that comes from elsewhere, such as a request. It
// refuses what would read files of this machine or run programs on it. The error is a
// spec.Problems.
func ParseAlone(data []byte, set map[string]string) (*Scenario, error) {
	options := loading(set)
	options.Files = noFiles{}
	options.Cluster = func(c *spec.Checker, cluster *spec.Cluster) {
		if cluster.Snapshot != "" || len(cluster.Objects)+len(cluster.Stages) > 0 {
			c.Problem("", "%v", errNoFiles)
			return
		}
		checkCluster(c, cluster)
	}
	found, err := spec.Parse("scenario", data, options)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, spec.Problems{{File: "scenario", Message: fmt.Sprintf("there must be one scenario in it, and there are %d", len(found))}}
	}
	if err := withoutPrograms(found[0], errNoPrograms); err != nil {
		return nil, err
	}
	return found[0], nil
}

var (
	errNoFiles = errors.New("files of the cluster's machine cannot be read here: write the objects into the scenario, or run it with \"minikcm scenario run\"")
	// errNoProgramsBeside refuses programs in runs that are repeated exactly.
	errNoProgramsBeside = errors.New("other programs cannot run here: no two runs with them are the same")
	errNoPrograms       = errors.New("programs cannot be run on the cluster's machine: run the scenario with \"minikcm scenario run\"")
)

// noFiles is a file system that refuses to read files.
type noFiles struct{}

func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errNoFiles}
}

func loading(set map[string]string) spec.LoadOptions {
	return spec.LoadOptions{
		Set: set, Steps: grammar(), Cluster: checkCluster, CEL: check.CompileCheck,
		Manifest: isChaos, Beside: applyBeside, Kustomize: kustomize,
	}
}

// kustomize builds a folder with a kustomization.
func kustomize(dir string) ([]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("building the kustomization: %w", err)
	}
	data, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("writing down what the kustomization gives: %w", err)
	}
	return data, nil
}

// checkCluster refuses a description that no cluster can be started from.
func checkCluster(c *spec.Checker, cluster *spec.Cluster) {
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

// clusterOptions returns the options of the cluster that a scenario describes.
func clusterOptions(c *spec.Cluster) (minikcm.Options, error) {
	options := minikcm.Options{
		Clock: minikcm.ClockOptions{Driven: true}, // by the steps: each ends its work before the cluster's parts react
		Nodes: minikcm.NodeOptions{Count: -1, Cloud: c.CloudProvider, PodNetworks: minikcm.PodNetworks{Allocate: c.ClusterCIDR != "", ClusterCIDR: c.ClusterCIDR}, Manage: managed(c.ManageAllNodes), Stages: minikcm.Stages{Watch: true}, Latencies: minikcm.Latencies{
			PodStart: time.Duration(c.StartDelay), ContainerReady: time.Duration(c.ReadyDelay), ContainerStop: time.Duration(c.ContainerStop), ServiceSync: time.Duration(c.ServiceSync),
		}},
		Seed:        c.Seed,
		Controllers: minikcm.ControllerOptions{Selected: c.Controllers, NoScheduler: c.NoScheduler},
		Sharing:     minikcm.SharingOptions{LeaderElection: c.LeaderElection},
		Storage:     minikcm.StorageOptions{Snapshot: c.Snapshot},
		API:         minikcm.APIOptions{ServiceRanges: c.ServiceRanges},
		Security:    minikcm.SecurityOptions{IgnoreSimulatedWebhooks: c.IgnoreSimulatedWebhooks},
	}
	if c.Nodes != nil && *c.Nodes > 0 {
		options.Nodes.Count = *c.Nodes
	}
	if options.Seed == 0 {
		options.Seed = 1
	}
	var err error
	if options.Clock.Mode, options.Clock.Speed, err = clock.ParseMode(c.Clock); err != nil {
		return options, err
	}
	if options.Nodes.Stages.Manifests, err = minikcm.ReadStages(c.Stages); err != nil {
		return options, fmt.Errorf("stages: %w", err)
	}
	if c.Start != "" {
		if options.Clock.Start, err = time.Parse(time.RFC3339, c.Start); err != nil {
			return options, fmt.Errorf("start: %w", err)
		}
	}
	for i := range c.Pools {
		pool, err := nodepools.Of(&c.Pools[i])
		if err != nil {
			return options, err
		}
		options.Nodes.Pools = append(options.Nodes.Pools, pool)
	}
	return options, nil
}

func managed(all *bool) minikcm.ManageNodes {
	if all != nil && !*all {
		return minikcm.ManageMarked
	}
	return minikcm.ManageAll
}
