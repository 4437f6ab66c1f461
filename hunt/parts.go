package hunt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/comparison"
)

// A cluster's start takes most of the time of a run, and most of its controllers have nothing to do in it. The disturbed runs have
// clusters of parts: the controllers that wrote in the undisturbed runs or watch what was written in them, and a garbage collector that
// watches only that. A run that writes anything else is made again on a whole cluster, and so is one whose end may be a finding. So what
// is left out can hide a bug at most if a controller that had nothing to do would have acted on a kind that it does not watch.

// parts are the parts of a cluster. Methods of nil are about a whole cluster.
type parts struct {
	// touched are the resources that were written since the operator's start.
	touched     map[schema.GroupVersionResource]bool
	idle        []string
	unwatched   []schema.GroupResource
	noScheduler bool
}

// partsOf returns the parts that undisturbed runs need. served are the resources of the API server.
func partsOf(runs []*outcome, served []schema.GroupVersionResource) *parts {
	p := &parts{touched: map[schema.GroupVersionResource]bool{}}
	names, writers := map[string]bool{}, map[string]bool{}
	groups := map[string]bool{}
	for _, run := range runs {
		maps.Copy(p.touched, run.touched)
		maps.Copy(writers, run.writers)
		maps.Copy(groups, run.watched)
	}
	for r := range p.touched {
		groups[r.GroupResource().String()] = true
	}
	for r := range groups {
		name, _, _ := strings.Cut(r, ".")
		names[name] = true
	}
	p.noScheduler = !names["pods"]
	p.idle = controllers.Idle(func(c string) bool { return writers[c] }, func(r string) bool { return names[r] })
	for _, r := range served {
		if !groups[r.GroupResource().String()] {
			p.unwatched = append(p.unwatched, r.GroupResource())
		}
	}
	return p
}

// apply leaves the other parts out of a cluster, unless its options select controllers.
func (p *parts) apply(o *minikcm.Options) {
	if p == nil || len(o.Controllers.Selected) > 0 {
		return
	}
	o.Controllers.Selected = []string{"*"}
	for _, name := range p.idle {
		o.Controllers.Selected = append(o.Controllers.Selected, "-"+name)
	}
	o.Controllers.GCIgnored = append(slices.Clone(p.unwatched), o.Controllers.GCIgnored...)
	o.Controllers.NoScheduler = o.Controllers.NoScheduler || p.noScheduler
}

// reads returns the resources whose objects are read at the end; nil: all.
func (p *parts) reads() map[schema.GroupVersionResource]bool {
	if p == nil {
		return nil
	}
	return p.touched
}

// covers reports whether a run on a cluster of parts wrote nothing that concerns the others.
func (p *parts) covers(o *outcome) bool {
	for r := range o.touched {
		if !p.touched[r] {
			return false
		}
	}
	return true
}

// restricted returns the objects of a whole cluster that a cluster of the parts reads at its end.
func (p *parts) restricted(o *outcome) *outcome {
	kinds := map[schema.GroupKind]bool{}
	for r := range p.touched {
		kinds[o.kinds[r]] = true
	}
	other := *o
	other.state = maps.Clone(o.state)
	maps.DeleteFunc(other.state, func(key comparison.Key, _ map[string]any) bool {
		return !kinds[schema.GroupKind{Group: key.Group, Kind: key.Kind}]
	})
	return &other
}

// leaveOut leaves parts out of the clusters of disturbed runs, if an undisturbed run without them is as the others.
func (h *hunter) leaveOut() {
	var options minikcm.Options
	for _, change := range h.cluster {
		change(&options)
	}
	if len(options.Controllers.Selected) > 0 {
		return
	}
	p := partsOf(h.undisturbed, h.base.served)
	base := p.restricted(h.base)
	o := h.tryOn(p, h.seed, h.workload.Steps, nil)
	if !p.covers(o) || h.judge(o, base).bad() || !slices.Equal(sortedPoints(o), sortedPoints(base)) {
		return
	}
	h.parts, h.partsBase = p, base
}

func sortedPoints(o *outcome) []string {
	var all []string
	for _, p := range o.points() {
		all = append(all, p.String())
	}
	slices.Sort(all)
	return all
}

// disturbed makes a disturbed run, if possible on a cluster of parts.
func (h *hunter) disturbed(disturbances []Disturbance) (*outcome, verdict) {
	if h.parts != nil {
		o := h.tryOn(h.parts, h.seed, h.workload.Steps, disturbances)
		if v := h.judge(o, h.partsBase); h.parts.covers(o) && !v.bad() {
			return o, v
		}
	}
	o := h.attempt(h.seed, h.workload.Steps, disturbances)
	return o, h.judge(o, h.base)
}

// servedResources returns what the API server serves.
func servedResources(client discovery.ServerResourcesInterface) ([]schema.GroupVersionResource, error) {
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, fmt.Errorf("reading the API's resources: %w", err)
	}
	served, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return nil, fmt.Errorf("reading the API's resources: %w", err)
	}
	return slices.SortedFunc(maps.Keys(served), func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) }), nil
}
