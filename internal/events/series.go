package events

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"
	utilclock "k8s.io/utils/clock"
)

// When a series of equal events ends, and how often one that goes on is written, as in
// client-go's tools/events.
const (
	seriesEnds    = 6 * time.Minute
	seriesRefresh = 30 * time.Minute
)

// SeriesRecorder reports events of the API events.k8s.io/v1. It satisfies client-go's
// events.EventRecorder and AnnotatedEventRecorder. Equal events are one object as long as each
// comes within six minutes of the one before: the second makes it a series, the count of later ones
// is written every half hour and at the end.
type SeriesRecorder struct {
	recorder   *Recorder
	client     eventsv1client.EventsGetter
	controller string
	instance   string
}

var (
	_ events.EventRecorder          = &SeriesRecorder{}
	_ events.AnnotatedEventRecorder = &SeriesRecorder{}
)

// Series returns a recorder of the same queue for the other API. The two names are
// reportingController and reportingInstance.
func (r *Recorder) Series(client eventsv1client.EventsGetter, controller, instance string) *SeriesRecorder {
	return &SeriesRecorder{recorder: r, client: client, controller: controller, instance: instance}
}

// Eventf reports something about regarding, and about related if that is not nil.
func (r *SeriesRecorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.AnnotatedEventf(regarding, related, nil, eventtype, reason, action, note, args...)
}

// AnnotatedEventf is Eventf with annotations on the event.
func (r *SeriesRecorder) AnnotatedEventf(regarding, related runtime.Object, annotations map[string]string, eventtype, reason, action, note string, args ...any) {
	note = fmt.Sprintf(note, args...)
	ref := r.recorder.refer(regarding, eventtype, reason, note)
	if ref == nil {
		return
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:        util.GenerateEventName(ref.Name, r.recorder.stamps.about(series{r.controller, ref.Namespace, ref.Name}).UnixNano()),
			Namespace:   cmp.Or(ref.Namespace, metav1.NamespaceDefault),
			Annotations: annotations,
		},
		EventTime:           metav1.NewMicroTime(r.recorder.clock.Now()),
		ReportingController: r.controller, ReportingInstance: r.instance,
		Action: action, Reason: reason, Regarding: *ref, Note: note, Type: eventtype,
	}
	if related != nil {
		// As upstream's, the event is reported without a related object that has no reference.
		event.Related, _ = reference.GetReference(r.recorder.scheme, related)
	}
	r.recorder.enqueue(&pending{
		about: ref, component: r.controller, shard: r.recorder.shardOf(ref), message: &seriesMessage{event: event, client: r.client},
	})
}

// seriesMessage is an event of events.k8s.io, or the state of its series.
type seriesMessage struct {
	event  *eventsv1.Event
	client eventsv1client.EventsGetter
	// counted is set once event has been replaced by the result of series.count.
	counted bool
}

func (m *seriesMessage) name() (event klog.ObjectRef, reason string) {
	return klog.KObj(m.event), m.event.Reason
}

// send patches the event's series, or creates the event if it is new or has been
// deleted since.
func (m *seriesMessage) send(ctx context.Context, s *sink, _ bool) error {
	if !m.counted {
		m.event, m.counted = s.series.count(s, m), true
	}
	if m.event == nil {
		return nil
	}
	client := m.client.Events(m.event.Namespace)
	if m.event.Series != nil {
		patch, err := json.Marshal(map[string]any{"series": m.event.Series})
		if err != nil {
			return fmt.Errorf("encoding the series of an event: %w", err)
		}
		_, err = client.Patch(ctx, m.event.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		if !util.IsKeyNotFoundError(err) {
			return err
		}
	}
	_, err := client.Create(ctx, m.event, metav1.CreateOptions{})
	return err
}

// seriesKey holds the fields in which equal events agree.
type seriesKey struct {
	eventType, action, reason, controller, instance string
	regarding, related                              v1.ObjectReference
}

func keyOf(e *eventsv1.Event) seriesKey {
	key := seriesKey{
		eventType: e.Type, action: e.Action, reason: e.Reason,
		controller: e.ReportingController, instance: e.ReportingInstance, regarding: e.Regarding,
	}
	if e.Related != nil {
		key.related = *e.Related
	}
	return key
}

// seriesCache holds the series that have not ended. The zero value is ready. Its timer
// is set only while there are any, so that a virtual clock at rest has none.
type seriesCache struct {
	mu        sync.Mutex
	open      map[seriesKey]*openSeries
	sweep     utilclock.Timer
	refreshed time.Time
	stopped   bool
}

type openSeries struct {
	event  *eventsv1.Event
	client eventsv1client.EventsGetter
}

// count returns the event to write; nil if the event is only counted.
func (c *seriesCache) count(s *sink, m *seriesMessage) *eventsv1.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, now := keyOf(m.event), s.clock.Now()
	if known := c.open[key]; known != nil {
		if known.event.Series != nil {
			known.event.Series.Count++
			known.event.Series.LastObservedTime = metav1.NewMicroTime(now)
			return nil
		}
		known.event.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NewMicroTime(now)}
		return known.event.DeepCopy()
	}
	if c.open == nil {
		c.open = map[seriesKey]*openSeries{}
	}
	c.open[key] = &openSeries{event: m.event, client: m.client}
	if c.sweep == nil && !c.stopped {
		c.refreshed = now
		c.sweep = s.clock.AfterFunc(seriesEnds, func() { c.end(s) })
	}
	return m.event.DeepCopy()
}

// end writes the series that have ended or whose count is due.
func (c *seriesCache) end(s *sink) {
	for _, m := range c.due(s) {
		about := m.event.Regarding
		s.enqueue(&pending{about: &about, component: m.event.ReportingController, shard: s.shardOf(&about), message: m})
	}
}

func (c *seriesCache) due(s *sink) []*seriesMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	now := s.clock.Now()
	refresh := now.Sub(c.refreshed) >= seriesRefresh
	if refresh {
		c.refreshed = now
	}
	var due []*seriesMessage
	for key, known := range c.open {
		last := known.event.EventTime
		if known.event.Series != nil {
			last = known.event.Series.LastObservedTime
		}
		ended := last.Time.Before(now.Add(-seriesEnds))
		if ended {
			delete(c.open, key)
		}
		if known.event.Series != nil && (ended || refresh) {
			due = append(due, &seriesMessage{event: known.event.DeepCopy(), client: known.client, counted: true})
		}
	}
	slices.SortFunc(due, func(a, b *seriesMessage) int { return cmp.Compare(a.event.Name, b.event.Name) })
	c.sweep = nil
	if len(c.open) > 0 {
		c.sweep = s.clock.AfterFunc(seriesEnds, func() { c.end(s) })
	}
	return due
}

// stop drops the counts of series that have not been written.
func (c *seriesCache) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.sweep != nil {
		c.sweep.Stop()
	}
	clear(c.open)
}
