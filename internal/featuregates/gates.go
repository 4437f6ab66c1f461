package featuregates

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/internal/releases"
	"minikcm.dev/minikcm/internal/spell"
)

// The gates that code checks by name, besides the gates of fields and resources.
const (
	// GenericWorkload is the gate of Workload, PodGroup and the scheduling groups of pods (KEP-4671).
	GenericWorkload = "GenericWorkload"
	// DRAResourcePoolStatus is the gate of ResourcePoolStatusRequest (KEP-5677).
	DRAResourcePoolStatus = "DRAResourcePoolStatus"
	// DRAPartitionableDevicesType is the gate of the fields by which ResourcePoolStatusRequests count the
	// partitions of devices (KEP-5677).
	DRAPartitionableDevicesType = "DRAPartitionableDevicesType"
	// StorageVersionAPI is the gate of StorageVersion (KEP-2339).
	StorageVersionAPI = "StorageVersionAPI"
	// APIServerIdentity is the gate of the Lease that identifies an API server (KEP-1965).
	APIServerIdentity = "APIServerIdentity"
	// HPAScaleToZero is the gate of autoscalers that scale to zero (KEP-2021).
	HPAScaleToZero = "HPAScaleToZero"
	// HPAGeneration is the gate of the generation of autoscalers.
	HPAGeneration = "HPAGeneration"
	// PodLogsQuerySplitStreams is the gate of logs of one stream (KEP-3288).
	PodLogsQuerySplitStreams = "PodLogsQuerySplitStreams"
)

// behaviors are the gates that code checks with Enabled.
var behaviors = []string{
	GenericWorkload, DRAResourcePoolStatus, DRAPartitionableDevicesType, StorageVersionAPI, APIServerIdentity, HPAScaleToZero, HPAGeneration,
	PodLogsQuerySplitStreams,
}

// ownDefaults are the features whose default here is not upstream's. A Lease that identifies the only API
// server would be renewed for nothing.
var ownDefaults = map[string]bool{APIServerIdentity: false}

// needed are the gates without which another one cannot be on. One that is on by default upstream is
// turned on with it.
var needed = map[string]string{DRAPartitionableDevicesType: DRAResourcePoolStatus, StorageVersionAPI: APIServerIdentity}

// Gates are the features of a release that are on. The zero value has the defaults of the newest release.
type Gates struct {
	// release is the minor release; 0: the newest.
	release releases.Minor
	// set are the gates that do not have their default.
	set map[string]bool
}

// New returns the features of a release with some gates set. A gate that the release does not have, one
// that is locked to the other value, and one without a gate that it depends on are errors.
func New(release releases.Minor, set map[string]bool) (Gates, error) {
	g := Gates{release: release, set: map[string]bool{}}
	explicit := maps.Clone(set)
	for stage, name := range map[string]string{releases.Alpha: "AllAlpha", releases.Beta: "AllBeta"} {
		on, ok := set[name]
		if !ok {
			continue
		}
		delete(explicit, name)
		for _, gate := range g.Release().Gates() {
			if info, _ := g.Release().Gate(gate); info.Stage == stage && !info.Locked {
				g.set[gate] = on
			}
		}
	}
	for name, on := range explicit {
		info, ok := g.Release().Gate(name)
		switch {
		case !ok:
			return g, g.unknown(name)
		case info.Locked && info.On != on:
			return g, fmt.Errorf("cannot set feature gate %s to %v, feature is locked to %v", name, on, info.On)
		}
		g.set[name] = on
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		other := needed[name]
		if _, given := explicit[other]; g.Enabled(name) && !given && g.Release().Default(other) {
			g.set[other] = true
		}
		if explicit[name] && !g.Enabled(other) {
			return g, fmt.Errorf("feature gate %s is on, but depends on %s, which is off", name, other)
		}
	}
	return g, nil
}

// On returns the defaults of the newest release with some features on.
func On(names ...string) Gates {
	g := Gates{set: map[string]bool{}}
	for _, name := range names {
		g.set[name] = true
	}
	return g
}

// Release returns the release.
func (g Gates) Release() releases.Minor {
	if g.release == 0 {
		return releases.Newest
	}
	return g.release
}

// Enabled reports whether a feature is on.
func (g Gates) Enabled(name string) bool {
	if on, ok := g.set[name]; ok {
		return on
	}
	if on, ok := ownDefaults[name]; ok {
		return on
	}
	return g.Release().Default(name)
}

// IsDefault reports whether the gates are the defaults of the newest release.
func (g Gates) IsDefault() bool {
	return g.Release() == releases.Newest && !slices.ContainsFunc(slices.Collect(maps.Keys(g.set)), func(name string) bool {
		return g.Enabled(name) != releases.Newest.Default(name)
	})
}

// Key identifies the gates in maps.
func (g Gates) Key() string {
	var b strings.Builder
	b.WriteString(g.Release().String())
	for _, name := range slices.Sorted(maps.Keys(g.set)) {
		fmt.Fprintf(&b, ",%s=%v", name, g.set[name])
	}
	return b.String()
}

// Ineffective returns the gates of the newest release that are set to another value than their default and
// change nothing here.
func (g Gates) Ineffective() []string {
	effective := Effective()
	var names []string
	for name, on := range g.set {
		if on != g.Release().Default(name) && !slices.Contains(effective, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Effective returns the gates that change something here when they are turned on or off, in order.
func Effective() []string {
	names := slices.Clone(behaviors)
	for name := range fieldsByGate {
		names = append(names, name)
	}
	for _, name := range resourceGates {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// merged maps gates that Kubernetes had before to the gates that have taken their place.
var merged = map[string]string{"GangScheduling": GenericWorkload, "WorkloadAwarePreemption": GenericWorkload}

// unknown returns the error for a gate that the release does not have.
func (g Gates) unknown(name string) error {
	if now, ok := merged[name]; ok && g.Release() == releases.Newest {
		return fmt.Errorf("unrecognized feature gate: %s: Kubernetes v%s has merged it into %s", name, g.Release(), now)
	}
	err := fmt.Errorf("unrecognized feature gate: %s", name)
	if near := spell.Nearest(name, g.Release().Gates()); near != "" {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

// Parse reads the items name=true and name=false of the flag --feature-gates. Items may be joined by
// commas.
func Parse(items []string) (map[string]bool, error) {
	set := map[string]bool{}
	for name, value := range pairs(items) {
		if name == "" {
			continue
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("%s must be true or false, not %q", name, value)
		}
		set[name] = on
	}
	return set, nil
}

// pairs yields the names and values of items such as a=b,c=d. A name without a value has the value "".
func pairs(items []string) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for _, item := range items {
			for pair := range strings.SplitSeq(item, ",") {
				name, value, _ := strings.Cut(pair, "=")
				if !yield(strings.TrimSpace(name), strings.TrimSpace(value)) {
					return
				}
			}
		}
	}
}
