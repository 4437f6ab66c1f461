package runrecord

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/reasons"
)

const (
	// defaultWrites and defaultEvents are the default numbers of writes and events to keep, half of
	// them the oldest and half the newest: some 20 MB.
	defaultWrites = 40_000
	defaultEvents = 10_000
	// maxNames caps the names in the maps of totals.
	maxNames = 1000
)

// observations holds the recorder's observations of the writes.
type observations struct {
	writes kept[minikcm.Write]
	events kept[Event]
	pods   map[types.UID]Phase
	curves *curves
	totals Totals
	// seen are the figures of the controllers at the last sample.
	seen map[string]activity
	// newest is the newest revision.
	newest int64
}

type activity struct{ reconciles, failures int64 }

func newObservations(opts Options) *observations {
	writes, events := opts.Writes, opts.Events
	if writes <= 0 {
		writes = defaultWrites
	}
	if events <= 0 {
		events = defaultEvents
	}
	return &observations{
		writes: kept[minikcm.Write]{half: (writes + 1) / 2}, events: kept[Event]{half: (events + 1) / 2},
		pods: map[types.UID]Phase{}, curves: newCurves(), seen: map[string]activity{},
		totals: Totals{ByActor: map[string]int64{}, ByResource: map[string]int64{}, ByReason: map[string]int64{}, ByActorAndResource: map[string]int64{}},
	}
}

// wrote is called for every write, within the request that made it.
func (o *observations) wrote(at time.Duration, w *minikcm.Write, old, obj runtime.Object) {
	actor := w.Writer()
	o.newest = max(o.newest, w.Revision)
	o.writes.add(*w)
	o.totals.Writes++
	count(o.totals.ByActor, actor)
	count(o.totals.ByResource, w.Resource.Resource)
	both := actor + " " + w.Resource.Resource
	if w.Subresource != "" {
		both += "/" + w.Subresource
	}
	count(o.totals.ByActorAndResource, both)
	if w.Effect == minikcm.Changed && len(w.Changes) == 0 {
		o.totals.Heartbeats++
	}
	o.curves.count(o.curves.writers, actor, at, 1)
	switch obj := obj.(type) {
	case *corev1.Pod:
		o.pod(at, old, obj, w.Effect)
	case *corev1.Event:
		if w.Effect != minikcm.Removed {
			o.event(at, w.Revision, obj)
		}
	}
}

func count(all map[string]int64, name string) {
	if _, known := all[name]; !known && len(all) >= maxNames {
		name = "others"
	}
	all[name]++
}

func (o *observations) pod(at time.Duration, old runtime.Object, pod *corev1.Pod, effect minikcm.Effect) {
	from, known := o.pods[pod.UID]
	if before, ok := old.(*corev1.Pod); ok && !known {
		// It was there before the record began.
		from = phaseOf(before)
		o.curves.phase(from).lift()
	}
	if effect == minikcm.Removed {
		delete(o.pods, pod.UID)
		o.totals.PodsDeleted++
		o.curves.step(at, from, "")
		return
	}
	if effect == minikcm.Created {
		o.totals.PodsCreated++
	}
	to := phaseOf(pod)
	o.pods[pod.UID] = to
	o.curves.step(at, from, to)
}

func phaseOf(pod *corev1.Pod) Phase {
	switch {
	case pod.DeletionTimestamp != nil:
		return Terminating
	case pod.Status.Phase == "":
		return Pending
	case pod.Status.Phase != corev1.PodRunning:
		return Phase(pod.Status.Phase)
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return Ready
		}
	}
	return Running
}

func (o *observations) event(at time.Duration, revision int64, e *corev1.Event) {
	o.totals.Events++
	count(o.totals.ByReason, e.Reason)
	component := e.Source.Component
	if component == "" {
		component = e.ReportingController
	}
	about := e.InvolvedObject
	o.events.add(Event{
		At: at, Revision: revision, Type: e.Type, Reason: e.Reason, Message: e.Message, Count: reasons.EventOf(e, revision).Count, Component: component, UID: about.UID,
		Object: Object{Group: about.GroupVersionKind().Group, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name},
	})
}

// sampled is called with the figures of the controllers.
func (o *observations) sampled(at time.Duration, name string, now activity) {
	before := o.seen[name]
	o.seen[name] = now
	// A controller that was restarted begins at zero.
	if now.reconciles < before.reconciles {
		before = activity{}
	}
	o.curves.count(o.curves.reconciles, name, at, now.reconciles-before.reconciles)
	o.curves.count(o.curves.failures, name, at, max(now.failures-before.failures, 0))
}

// into puts all of it into a run that ends at end.
func (o *observations) into(run *Run, end time.Duration) {
	run.Pods, run.Controllers = o.curves.pods(end), o.curves.controllers(end)
	run.Writes, run.Events, run.Totals = o.writes.all(), o.events.all(), o.totals
	run.Totals.ForgottenWrites, run.Totals.ForgottenEvents = o.writes.forgotten(), o.events.forgotten()
}
