package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/util/duration"
)

// maxNamed caps the nodes or controllers named in a line.
const maxNamed = 5

// print prints the status, one line for each name and value.
func (s *clusterStatus) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	line := func(name, value string) { _, _ = fmt.Fprintf(table, "%s\t%s\n", name, value) } // writes to memory do not fail
	line("CLUSTER", strings.TrimSpace(fmt.Sprintf("%s (kubeconfig %s)", s.Name, s.Kubeconfig)))
	line("SERVER", fmt.Sprintf("%s (minikcm %s, Kubernetes %s)", s.Server, s.Version, s.Kubernetes))
	line("CLOCK", atClock(&s.Clock))
	line("SEED", fmt.Sprint(s.Seed))
	line("NODES", s.Nodes.String())
	line("PODS", inOrder(s.Pods, []string{"Running", "Pending", "Succeeded", "Failed", "Terminating"}))
	line("CONTROLLERS", s.Controllers.String())
	if s.Entrances != nil {
		s.printEntrances(line)
	}
	if len(s.Faults) == 0 {
		line("FAULTS", "none")
	}
	for i := range s.Faults {
		name, f := "FAULTS", &s.Faults[i]
		if i > 0 {
			name = ""
		}
		line(name, fmt.Sprintf("%s %s (%s, for %s, left: %s)", f.ID, f.Title, f.State, duration.HumanDuration(s.Clock.Now.Sub(f.Since)), left(f, s.Clock.Now)))
	}
	return table.Flush()
}

// printEntrances prints the proxy, and the published ports of each Service.
func (s *clusterStatus) printEntrances(line func(name, value string)) {
	if s.Entrances.Proxy != "" {
		line("PROXY", "http://"+s.Entrances.Proxy)
	}
	name := "PUBLISHED"
	for i := range s.Entrances.Services {
		p := &s.Entrances.Services[i]
		port := strconv.Itoa(int(p.Port))
		if p.Protocol != "" {
			port += "/" + string(p.Protocol)
		}
		line(name, fmt.Sprintf("%s/%s:%s %s", p.Namespace, p.Service, port, cmp.Or(p.Address, "not: "+p.Problem)))
		name = ""
	}
	if name != "" && s.Entrances.Publishes {
		line(name, "none")
	}
}

func (c *nodeCounts) String() string {
	if c.Total == 0 {
		return "none"
	}
	parts := []string{fmt.Sprintf("%d Ready", c.Ready)}
	if n := len(c.NotReady); n > 0 {
		parts = append(parts, fmt.Sprintf("%d NotReady (%s)", n, some(c.NotReady)))
	}
	if n := len(c.Cordoned); n > 0 {
		parts = append(parts, fmt.Sprintf("%d cordoned (%s)", n, some(c.Cordoned)))
	}
	return strings.Join(parts, ", ")
}

func (c *controllerCounts) String() string {
	states := map[string]int{}
	for state, n := range c.States {
		states[string(state)] += n
	}
	text := inOrder(states, nil)
	if len(c.Failing) > 0 {
		text += "; failing: " + some(c.Failing)
	}
	return text
}

// some joins the first maxNamed names, followed by the number of the others.
func some(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// inOrder formats counts such as "3 Running, 1 Pending": first the names in order, then the
// others sorted.
func inOrder(counts map[string]int, order []string) string {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if !slices.Contains(order, name) {
			order = append(slices.Clone(order), name)
		}
	}
	var parts []string
	for _, name := range order {
		if n := counts[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
