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

// GenericWorkload is the gate of Workload, PodGroup and the scheduling groups of pods (KEP-4671).
const GenericWorkload = "GenericWorkload"

// Gates are the feature gates that have an effect.
type Gates struct {
	GenericWorkload bool
}

// upstream has the names of all gates of Kubernetes, one a line. test/conformance/featuregates writes it.
//
//go:embed upstream.txt
var upstream string

// merged are gates that Kubernetes had before, by what has taken their place.
var merged = map[string]string{"GangScheduling": GenericWorkload, "WorkloadAwarePreemption": GenericWorkload}

// Parse reads the items name=true and name=false of the flag --feature-gates. Items may be joined by commas. A
// gate that has no effect here is an error, as an unknown one is.
func Parse(items []string) (Gates, error) {
	var g Gates
	for name, value := range pairs(items) {
		if name == "" {
			continue
		}
		if err := known(name); err != nil {
			return g, fmt.Errorf("--feature-gates: %w", err)
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return g, fmt.Errorf("--feature-gates: %s must be true or false, not %q", name, value)
		}
		g.GenericWorkload = on
	}
	return g, nil
}

// known returns an error for a gate that has no effect.
func known(name string) error {
	if name == GenericWorkload {
		return nil
	}
	if now, ok := merged[name]; ok {
		return fmt.Errorf("unrecognized feature gate %s: Kubernetes v1.37 has merged it into %s", name, now)
	}
	names := strings.Fields(upstream)
	if slices.Contains(names, name) {
		return fmt.Errorf("feature gate %s of Kubernetes has no effect in minikcm; the gate that has one is %s", name, GenericWorkload)
	}
	err := fmt.Errorf("unrecognized feature gate %s; the gate that has an effect is %s", name, GenericWorkload)
	if near := spell.Nearest(name, names); near != "" {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

// groupVersion is the API version that GenericWorkload serves.
const groupVersion = "scheduling.k8s.io/v1beta1"

// ParseRuntimeConfig reads the items of the flag --runtime-config, version=true or version=false: those that
// turn an API version of g on or off. They need each other: a version without its gate serves nothing, and
// without the version, no client can make the objects that the gate is about.
func ParseRuntimeConfig(items []string, g Gates) error {
	on := false
	for version, value := range pairs(items) {
		if version == "" {
			continue
		}
		if version != groupVersion {
			return fmt.Errorf("--runtime-config: API version %s cannot be turned on or off in minikcm, only %s", version, groupVersion)
		}
		var err error
		if on, err = strconv.ParseBool(value); err != nil && value != "" {
			return fmt.Errorf("--runtime-config: API version %s must be true or false, not %q", version, value)
		}
		on = on || value == ""
	}
	switch {
	case on && !g.GenericWorkload:
		return errors.New("--runtime-config=" + groupVersion + "=true serves nothing without --feature-gates=" + GenericWorkload + "=true")
	case g.GenericWorkload && !on:
		return errors.New("--feature-gates=" + GenericWorkload + "=true has no effect without --runtime-config=" + groupVersion + "=true")
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
