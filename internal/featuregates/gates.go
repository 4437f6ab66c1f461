package featuregates

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/internal/spell"
)

// The gates that have an effect.
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
)

// Gates are the feature gates that have an effect.
type Gates struct {
	GenericWorkload             bool
	DRAResourcePoolStatus       bool
	DRAPartitionableDevicesType bool
	StorageVersionAPI           bool
	APIServerIdentity           bool
}

// All returns gates that are all on.
func All() Gates {
	var g Gates
	for _, row := range table {
		*row.of(&g) = true
	}
	return g
}

// Enabled reports whether the gate of that name is on. A gate without an effect is off.
func (g Gates) Enabled(name string) bool {
	row := find(name)
	return row != nil && *row.of(&g)
}

// row is a gate that has an effect.
type row struct {
	name string
	of   func(g *Gates) *bool
	// version is the API version that the gate serves kinds of; empty: none.
	version string
	// needs is another gate that has to be on; empty: none.
	needs string
	// onIfNeeded turns the gate on where another one needs it, unless it is turned off explicitly: upstream has
	// it on by default.
	onIfNeeded bool
}

var table = []row{
	{name: GenericWorkload, of: func(g *Gates) *bool { return &g.GenericWorkload }, version: "scheduling.k8s.io/v1beta1"},
	{name: DRAResourcePoolStatus, of: func(g *Gates) *bool { return &g.DRAResourcePoolStatus }, version: "resource.k8s.io/v1alpha3"},
	{name: DRAPartitionableDevicesType, of: func(g *Gates) *bool { return &g.DRAPartitionableDevicesType }, needs: DRAResourcePoolStatus},
	{name: StorageVersionAPI, of: func(g *Gates) *bool { return &g.StorageVersionAPI }, version: "internal.apiserver.k8s.io/v1alpha1", needs: APIServerIdentity},
	{name: APIServerIdentity, of: func(g *Gates) *bool { return &g.APIServerIdentity }, onIfNeeded: true},
}

// find returns the row of a gate; nil if it has no effect.
func find(name string) *row {
	if i := slices.IndexFunc(table, func(r row) bool { return r.name == name }); i >= 0 {
		return &table[i]
	}
	return nil
}

// listed joins what the rows have, as in "a, b and c".
func listed(of func(r row) string) string {
	var all []string
	for _, r := range table {
		if text := of(r); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

func nameOf(r row) string { return r.name }

func versionOf(r row) string { return r.version }

// upstream has the names of all gates of Kubernetes, one a line. test/conformance/featuregates writes it.
//
//go:embed upstream.txt
var upstream string

// merged are gates that Kubernetes had before, by what has taken their place.
var merged = map[string]string{"GangScheduling": GenericWorkload, "WorkloadAwarePreemption": GenericWorkload}

// Parse reads the items name=true and name=false of the flag --feature-gates. Items may be joined by commas. A
// gate that has no effect here is an error, as an unknown one is, and as one without the gate that it needs.
func Parse(items []string) (Gates, error) {
	var g Gates
	explicit := map[string]bool{}
	for name, value := range pairs(items) {
		if name == "" {
			continue
		}
		gate := find(name)
		if gate == nil {
			return g, fmt.Errorf("--feature-gates: %w", withoutEffect(name))
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return g, fmt.Errorf("--feature-gates: %s must be true or false, not %q", name, value)
		}
		*gate.of(&g) = on
		explicit[name] = true
	}
	for _, r := range table {
		if needed := find(r.needs); g.Enabled(r.name) && needed != nil && needed.onIfNeeded && !explicit[needed.name] {
			*needed.of(&g) = true
		}
	}
	return g, g.check()
}

// check returns an error if a gate is on without the gate that it needs.
func (g Gates) check() error {
	for _, r := range table {
		if g.Enabled(r.name) && r.needs != "" && !g.Enabled(r.needs) {
			return fmt.Errorf("--feature-gates: %s is on, but depends on %s, which is off", r.name, r.needs)
		}
	}
	return nil
}

// withoutEffect returns the error for a gate that has no effect.
func withoutEffect(name string) error {
	if now, ok := merged[name]; ok {
		return fmt.Errorf("unrecognized feature gate %s: Kubernetes v1.37 has merged it into %s", name, now)
	}
	names := strings.Fields(upstream)
	if slices.Contains(names, name) {
		return fmt.Errorf("feature gate %s of Kubernetes has no effect in minikcm; the gates that have one are %s", name, listed(nameOf))
	}
	err := fmt.Errorf("unrecognized feature gate %s; the gates that have an effect are %s", name, listed(nameOf))
	if near := spell.Nearest(name, names); near != "" {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

// ParseRuntimeConfig reads the items of the flag --runtime-config, version=true or version=false: those that
// turn an API version of g on or off. They need each other: a version without its gate serves nothing, and
// without the version, no client can make the objects that the gate is about.
func ParseRuntimeConfig(items []string, g Gates) error {
	on := map[string]bool{}
	for version, value := range pairs(items) {
		if version == "" {
			continue
		}
		if !slices.ContainsFunc(table, func(r row) bool { return r.version == version }) {
			return fmt.Errorf("--runtime-config: API version %s cannot be turned on or off in minikcm, only %s", version, listed(versionOf))
		}
		enabled, err := strconv.ParseBool(value)
		if err != nil && value != "" {
			return fmt.Errorf("--runtime-config: API version %s must be true or false, not %q", version, value)
		}
		on[version] = enabled || value == ""
	}
	for _, r := range table {
		gate, version := r.name+"=true", r.version+"=true"
		switch enabled := g.Enabled(r.name); {
		case r.version == "":
		case on[r.version] && !enabled:
			return errors.New("--runtime-config=" + version + " serves nothing without --feature-gates=" + gate)
		case enabled && !on[r.version]:
			return errors.New("--feature-gates=" + gate + " has no effect without --runtime-config=" + version)
		}
	}
	return nil
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
