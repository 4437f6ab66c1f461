package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Mirrored reports whether the Endpoints of a service are mirrored. Nil means that the
// object does not exist.
func Mirrored(endpoints *corev1.Endpoints, service *corev1.Service) bool {
	if endpoints == nil || service == nil || service.Spec.Selector != nil {
		return false
	}
	_, locks := endpoints.Annotations[leaderAnnotation]
	return endpoints.Labels[discoveryv1.LabelSkipMirror] != "true" && !locks
}

// leaderAnnotation marks an object that is only the lock of a leader election.
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

// EndpointSlices returns the actions that make the controller's slices mirror the Endpoints, which
// are Mirrored. The status of the plan is not used.
func EndpointSlices(endpoints *corev1.Endpoints, current []*discoveryv1.EndpointSlice) plan.Plan[struct{}] {
	d := desiredOf(endpoints)
	c := compare(endpoints, d, current)
	if endpoints.DeletionTimestamp != nil {
		c.create = nil
	}
	c.recycle()
	var p plan.Plan[struct{}]
	for _, step := range []struct {
		verb   plan.Verb
		slices []*discoveryv1.EndpointSlice
	}{{plan.Create, c.create}, {plan.Update, c.update}, {plan.Delete, c.remove}} {
		p.Actions = append(p.Actions, plan.Each(step.verb, step.slices)...)
	}
	p.Events = d.events()
	return p
}

func (d *desired) events() []plan.Event {
	var events []plan.Event
	if d.invalid > 0 {
		events = append(events, plan.Event{
			Type: corev1.EventTypeWarning, Reason: "InvalidIPAddress",
			Message: fmt.Sprintf("Skipped %d invalid IP addresses when mirroring to EndpointSlices", d.invalid),
		})
	}
	if d.skipped > d.invalid {
		events = append(events, plan.Event{
			Type: corev1.EventTypeWarning, Reason: "TooManyAddressesToMirror",
			Message: fmt.Sprintf("A max of %d addresses can be mirrored to EndpointSlices per Endpoints subset. %d addresses were skipped", maxPerSubset, d.skipped),
		})
	}
	return events
}

type changes struct{ create, update, remove []*discoveryv1.EndpointSlice }

func compare(endpoints *corev1.Endpoints, d *desired, current []*discoveryv1.EndpointSlice) *changes {
	existing := map[sliceKey][]*discoveryv1.EndpointSlice{}
	sorted := slices.SortedFunc(slices.Values(current), func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	for _, slice := range sorted {
		key := keyOf(slice.AddressType, slice.Ports)
		existing[key] = append(existing[key], slice)
	}
	changed := &changes{}
	meta := metadata(endpoints)
	for _, key := range d.order {
		want, have := d.by[key], existing[key]
		switch {
		case len(have) == 0:
			slice := newSlice(meta, key.family, want)
			slice.GenerateName = namePrefix(endpoints.Name)
			changed.create = append(changed.create, slice)
		case !want.shownBy(have[0]) || !sameMeta(&meta, &have[0].ObjectMeta):
			changed.update = append(changed.update, rewritten(have[0], newSlice(meta, key.family, want)))
		}
	}
	for _, slice := range sorted {
		key := keyOf(slice.AddressType, slice.Ports)
		if d.by[key] == nil || existing[key][0] != slice {
			changed.remove = append(changed.remove, slice)
		}
	}
	return changed
}

// recycle replaces a deletion and a creation of slices of the same family by one update.
func (c *changes) recycle() {
	var create []*discoveryv1.EndpointSlice
	for _, slice := range c.create {
		i := slices.IndexFunc(c.remove, func(old *discoveryv1.EndpointSlice) bool { return old.AddressType == slice.AddressType })
		if i < 0 {
			create = append(create, slice)
			continue
		}
		c.update = append(c.update, rewritten(c.remove[i], slice))
		c.remove = slices.Delete(c.remove, i, i+1)
	}
	c.create = create
}

func newSlice(meta metav1.ObjectMeta, family discoveryv1.AddressType, c *content) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: *meta.DeepCopy(), AddressType: family, Ports: c.ports, Endpoints: c.endpoints}
}

// rewritten returns the old slice with the contents of the new one.
func rewritten(old, slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	made := old.DeepCopy()
	made.Labels, made.Annotations, made.OwnerReferences = slice.Labels, slice.Annotations, slice.OwnerReferences
	made.Ports, made.Endpoints = slice.Ports, slice.Endpoints
	return made
}

// sameMeta reports whether a slice has the wanted metadata. An owner with the same name and
// another UID is an object that was deleted and created again.
func sameMeta(want, have *metav1.ObjectMeta) bool {
	owner := metav1.GetControllerOfNoCopy(have)
	return maps.Equal(want.Labels, have.Labels) && maps.Equal(want.Annotations, have.Annotations) &&
		owner != nil && owner.UID == want.OwnerReferences[0].UID
}
