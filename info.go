package minikcm

import (
	"runtime/debug"
	"slices"
	"time"

	"minikcm.dev/minikcm/clock"
)

// module is the path of the module that this package belongs to.
const module = "minikcm.dev/minikcm"

// Info identifies a cluster of minikcm, and lists what it serves beyond Kubernetes' API.
type Info struct {
	// Version is the version of minikcm, Kubernetes the version of the API that it serves.
	Version    string `json:"version"`
	Kubernetes string `json:"kubernetes"`
	// Features are the names that are served beneath /minikcm/v1/.
	Features []string `json:"features"`
	// Seed is the seed of the cluster's random choices.
	Seed  uint64    `json:"seed"`
	Clock ClockInfo `json:"clock"`
	// History is how much of the store's history is kept, if that was chosen: a duration, or a
	// number of revisions.
	History string `json:"history,omitempty"`
	// Roles are the roles of this process, if it shares its etcd with others: Cluster.Roles.
	Roles []string `json:"roles,omitempty"`
	// Fork says of which moment of another cluster this one is a fork, if it is one.
	Fork *ForkInfo `json:"fork,omitempty"`
}

// ForkInfo identifies a fork.
type ForkInfo struct {
	// ID is its name in the forked cluster.
	ID string `json:"id"`
	// The fork began with the objects of this revision of the forked cluster, which was the newest at Time.
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"`
}

// ClockInfo describes a cluster's clock.
type ClockInfo struct {
	Mode clock.Mode `json:"mode"`
	// Factor is the speed of a scaled clock, or of a virtual clock that runs by itself, as a
	// multiple of real time.
	Factor float64 `json:"factor,omitempty"`
	// Paused reports that a virtual clock stands still until it is resumed.
	Paused bool `json:"paused,omitempty"`
	// Now is the cluster's time.
	Now time.Time `json:"now"`
}

// Has reports whether the cluster has a feature.
func (i *Info) Has(feature string) bool { return slices.Contains(i.Features, feature) }

// Info describes the cluster.
func (c *Cluster) Info() Info {
	features := slices.Clone(ownFeatures)
	for _, e := range c.opts.API.Extensions {
		features = append(features, e.Name)
	}
	slices.Sort(features)
	info := Info{
		Version: Version(), Kubernetes: c.opts.kubernetesVersion(), Features: features, Seed: c.opts.Seed, Roles: c.Roles(), History: c.opts.Storage.History.text(), Fork: c.opts.Fork,
		Clock: ClockInfo{Mode: c.opts.Clock.Mode, Now: c.Clock().Now().UTC()},
	}
	switch info.Clock.Mode {
	case "":
		info.Clock.Mode = clock.ModeReal
	case clock.ModeScaled:
		info.Clock.Factor = c.opts.Clock.Speed
	case clock.ModeVirtual:
		if pacer := c.Pacer(); pacer != nil {
			now, _ := pacer.Pace()
			info.Clock.Factor, info.Clock.Paused = now.Speed, now.Paused
		}
	}
	return info
}

// releasedVersion is the version of a released program; the linker sets it.
var releasedVersion string

// Version returns the version of minikcm that the program was built with; "unknown" if the
// build did not record it.
func Version() string {
	if releasedVersion != "" {
		return releasedVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	modules := append([]*debug.Module{&info.Main}, info.Deps...)
	i := slices.IndexFunc(modules, func(m *debug.Module) bool { return m.Path == module })
	if i < 0 || modules[i].Version == "" {
		return "unknown"
	}
	return modules[i].Version
}
