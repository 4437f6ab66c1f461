package remedy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The kinds of workloads that have remedies.
const (
	Deployment  = "deployment"
	StatefulSet = "statefulset"
)

// Workload describes a workload, as far as the choice of its remedies depends on it.
type Workload struct {
	Kind, Namespace, Name string
	Replicas              int
	// Nodes is the number of nodes that its pods are on, and Spread means that its template says something about that.
	Nodes  int
	Spread bool
	// Servers are the containers that take requests.
	Servers []string
	// Hooked means that one of them has a preStop hook other than a sleep; Sleep is the shortest sleep, in seconds.
	Hooked bool
	Sleep  int
	// Grace is the termination grace period in seconds.
	Grace int
	// Budgeted means that a PodDisruptionBudget covers its pods.
	Budgeted bool
	// Selector selects its pods; empty: it takes more than labels.
	Selector map[string]string
	// Autoscaler is the name of the HorizontalPodAutoscaler whose minimum is below two replicas; empty: there is none.
	Autoscaler string
}

// Remedy is a change of a workload. The zero value changes nothing.
type Remedy struct {
	// Replicas means two replicas, on different nodes; Spread means the latter alone.
	Replicas, Spread bool
	// Sleep is how long a preStop hook of the servers waits, in seconds; 0: as before.
	Sleep int
	// Budget means a PodDisruptionBudget by which one pod may be unavailable.
	Budget bool
}

// The sleeps of preStop hooks, in seconds. The short one is longer than usual delays of endpoints and rules.
const (
	ShortSleep = 5
	LongSleep  = 15
)

// Lacks says in words what the workload lacks.
func (w *Workload) Lacks() []string {
	var all []string
	for _, lack := range []struct {
		is   bool
		text string
	}{
		{w.Replicas == 1, "single replica"},
		{w.crowded(), "all pods on one node"},
		{!w.Hooked && w.Sleep == 0, "no preStop hook"},
		{!w.Budgeted, "no PodDisruptionBudget"},
	} {
		if lack.is {
			all = append(all, lack.text)
		}
	}
	return all
}

func (w *Workload) crowded() bool { return w.Replicas > 1 && w.Nodes == 1 }

// sleeps reports whether a longer preStop hook is possible.
func (w *Workload) sleeps(seconds int) bool {
	return !w.Hooked && w.Sleep < seconds && seconds < w.Grace
}

// Remedies returns the remedies to try, the smallest first: one change, then two and three, and a longer hook last. A hook that waits until
// a successor serves is no remedy for a single replica, as it depends on how fast that is.
func (w *Workload) Remedies() []Remedy {
	var sizes [5][]Remedy
	for _, sleep := range []int{0, ShortSleep, LongSleep} {
		if sleep > 0 && !w.sleeps(sleep) {
			continue
		}
		for _, more := range []bool{false, true} {
			for _, budget := range []bool{false, true} {
				r := Remedy{Sleep: sleep, Replicas: more && w.Replicas == 1, Spread: more && w.crowded() && !w.Spread, Budget: budget}
				if size, ok := w.size(r, more); ok {
					sizes[size] = append(sizes[size], r)
				}
			}
		}
	}
	return slices.Concat(sizes[:]...)
}

// size returns the rank of a remedy among those to try, and whether it is one. more means that it is to have replicas or another spread.
func (w *Workload) size(r Remedy, more bool) (rank int, ok bool) {
	size := 0
	for _, part := range []bool{r.Replicas || r.Spread, r.Sleep > 0, r.Budget} {
		if part {
			size++
		}
	}
	single := w.Replicas == 1 && !r.Replicas
	switch {
	case size == 0, single, more && !r.Replicas && !r.Spread:
		return 0, false
	case r.Budget && (w.Budgeted || len(w.Selector) == 0):
		return 0, false
	case r.Sleep == LongSleep && w.sleeps(ShortSleep):
		return 4, !r.Spread
	}
	return size, true
}

// String describes the remedy.
func (r Remedy) String() string {
	var parts []string
	if r.Replicas {
		parts = append(parts, "two replicas on different nodes")
	}
	if r.Spread {
		parts = append(parts, "pods on different nodes")
	}
	if r.Sleep > 0 {
		parts = append(parts, fmt.Sprintf("a preStop hook that sleeps %d s", r.Sleep))
	}
	if r.Budget {
		parts = append(parts, "a PodDisruptionBudget")
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}

// hostname is the label of a node's name.
const hostname = "kubernetes.io/hostname"

// Patch returns the strategic merge patch of the workload; nil: none is needed.
func (r Remedy) Patch(w *Workload) []byte {
	type object = map[string]any
	spec, template := object{}, object{}
	if r.Replicas {
		spec["replicas"] = 2
	}
	if (r.Replicas || r.Spread) && !w.Spread && len(w.Selector) > 0 {
		template["topologySpreadConstraints"] = []object{{
			"maxSkew": 1, "topologyKey": hostname, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": object{"matchLabels": w.Selector},
		}}
	}
	if r.Sleep > 0 {
		var containers []object
		for _, name := range w.Servers {
			containers = append(containers, object{"name": name, "lifecycle": object{"preStop": object{"sleep": object{"seconds": r.Sleep}}}})
		}
		template["containers"] = containers
	}
	if len(template) > 0 {
		spec["template"] = object{"spec": template}
	}
	if len(spec) == 0 {
		return nil
	}
	patch, _ := json.Marshal(object{"spec": spec}) // maps of texts and numbers have a form
	return patch
}

// AutoscalerPatch is the patch of an autoscaler that would take a second replica away.
const AutoscalerPatch = `{"spec":{"minReplicas":2}}`

// Commands returns the remedy as commands.
func (r Remedy) Commands(w *Workload) []string {
	var all []string
	if r.Replicas && w.Autoscaler != "" {
		all = append(all, fmt.Sprintf("kubectl patch hpa %s -n %s -p '%s'", w.Autoscaler, w.Namespace, AutoscalerPatch))
	}
	if patch := r.Patch(w); patch != nil {
		all = append(all, fmt.Sprintf("kubectl patch %s %s -n %s -p '%s'", w.Kind, w.Name, w.Namespace, patch))
	}
	if r.Budget {
		var selector []string
		for _, key := range slices.Sorted(maps.Keys(w.Selector)) {
			selector = append(selector, key+"="+w.Selector[key])
		}
		all = append(all, fmt.Sprintf("kubectl create poddisruptionbudget %s -n %s --selector=%s --max-unavailable=1", w.Name, w.Namespace, strings.Join(selector, ",")))
	}
	return all
}
