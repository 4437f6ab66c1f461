package controllers

import (
	"fmt"
	"slices"
	"strings"

	"minikcm.dev/minikcm/controllers/internal/clusterroleaggregation"
	"minikcm.dev/minikcm/controllers/internal/garbagecollector"
	"minikcm.dev/minikcm/internal/featuregates"
)

// ParseSelection parses the value of the flag --controllers: names or aliases separated by
// commas. A name after "-" is excluded, "*" selects all controllers that are not disabled
// by default, and "-*" none. Names take precedence over "*", and an empty text means "*". A
// controller whose feature gate is off may be excluded, but not selected. It returns names of the table, not aliases,
// in the table's order.
func ParseSelection(text string, gates featuregates.Gates) ([]string, error) {
	table := Descriptors()
	star := strings.TrimSpace(text) == ""
	explicit := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if item == "*" || item == "-*" {
			star = item == "*"
			continue
		}
		name, excluded := strings.CutPrefix(item, "-")
		i := slices.IndexFunc(table, func(d Descriptor) bool { return d.Name == name || slices.Contains(d.Aliases, name) })
		if i < 0 {
			return nil, fmt.Errorf("%q is not a controller; the controllers are %s", name, strings.Join(Names(), ", "))
		}
		name = table[i].Name
		if before, ok := explicit[name]; ok && before == excluded {
			return nil, fmt.Errorf("controller %q is both selected and excluded", name)
		}
		explicit[name] = !excluded
	}
	selected := []string{}
	for _, d := range table {
		wanted, named := explicit[d.Name]
		if d.Gate != "" && !gates.Enabled(d.Gate) {
			if named && wanted {
				return nil, fmt.Errorf("controller %q needs the feature gate %s", d.Name, d.Gate)
			}
			continue
		}
		if named && wanted || !named && star && !d.DisabledByDefault {
			selected = append(selected, d.Name)
		}
	}
	return selected, nil
}

// Idle returns the names of the controllers that have nothing to do in a cluster in which only the touched resources are written
// and watched from some time on: those that have written nothing until then, and watch nothing of it. Resources are
// names without a group, such as pods. The roles that others are aggregated into have an effect only through bindings.
func Idle(wrote func(controller string) bool, touched func(resource string) bool) []string {
	var idle []string
	for _, d := range Descriptors() {
		works := slices.ContainsFunc(d.Watches, touched) || d.Name == garbagecollector.Name
		if d.Name == clusterroleaggregation.Name {
			works = works || slices.ContainsFunc([]string{"clusterrolebindings", "rolebindings", "roles"}, touched)
		} else {
			works = works || wrote(d.Name)
		}
		if !works {
			idle = append(idle, d.Name)
		}
	}
	return idle
}

// Names returns the names of all controllers in the table's order.
func Names() []string {
	var names []string
	for _, d := range Descriptors() {
		names = append(names, d.Name)
	}
	return names
}
