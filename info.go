package minikcm

import (
	"encoding/json"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
)

// ownPath is beneath what only minikcm serves. GET of it answers with an Info.
const ownPath = "/minikcm/v1"

// module is the path of the module that this package belongs to.
const module = "minikcm.dev/minikcm"

// Info says that a cluster is one of minikcm's, and what can be asked of it.
type Info struct {
	// Version is minikcm's, and Kubernetes the version of the API that is served.
	Version    string `json:"version"`
	Kubernetes string `json:"kubernetes"`
	// Features are what is served beneath /minikcm/v1/, by name.
	Features []string `json:"features"`
	// Seed is what the cluster's chance follows from.
	Seed  uint64    `json:"seed"`
	Clock ClockInfo `json:"clock"`
}

// ClockInfo says how a cluster's time passes.
type ClockInfo struct {
	Mode clock.Mode `json:"mode"`
	// Factor is how many times faster than the machine's a scaled clock runs.
	Factor float64 `json:"factor,omitempty"`
	// Now is the cluster's time.
	Now time.Time `json:"now"`
}

// Has reports whether the cluster has a feature.
func (i *Info) Has(feature string) bool { return slices.Contains(i.Features, feature) }

// Info describes the cluster.
func (c *Cluster) Info() Info {
	features := slices.Clone(ownFeatures)
	for _, e := range c.opts.Extensions {
		features = append(features, e.Name)
	}
	slices.Sort(features)
	info := Info{
		Version: Version(), Kubernetes: apiserver.DefaultVersion, Features: features, Seed: c.opts.Seed,
		Clock: ClockInfo{Mode: c.opts.ClockMode, Now: c.clock.Now().UTC()},
	}
	switch info.Clock.Mode {
	case "":
		info.Clock.Mode = clock.ModeReal
	case clock.ModeScaled:
		info.Clock.Factor = c.opts.ClockFactor
	}
	return info
}

func (c *Cluster) serveInfo(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(c.Info()) // fails only if the client is gone
}

// Version is the version of minikcm that the program was built with; "unknown" if the
// program does not know.
func Version() string {
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
