package events

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
)

// shards is how many goroutines write. An object's events go through one of
// them, so that they keep their order; several let the store batch its writes.
const shards = 4

// queueLength bounds the events of one shard that wait to be written. Where they take
// turns there is no bound: which events are lost would follow from the machine.
const queueLength = 16384

// Recorder reports events of one source. Copies of it for other sources, made
// by For, share its queue and its goroutines. It satisfies client-go's
// record.EventRecorder, so libraries can be given it.
type Recorder struct {
	*sink
	source  v1.EventSource
	manager string
	scheme  *runtime.Scheme
}

var _ record.EventRecorder = &Recorder{}

// sink is the state that the recorders of one process share.
type sink struct {
	client     corev1client.EventsGetter
	clock      clock.Clock
	stamps     *stamps
	correlator *record.EventCorrelator
	queues     [shards]inflight.Queue[*pending]
	retries    inflight.Alarms[*pending]
	seed       maphash.Seed
	dropped    atomic.Int64

	series seriesCache

	mu     sync.Mutex
	closed bool
}

// pending is an event on its way to the apiserver, of either API.
type pending struct {
	about     *v1.ObjectReference
	component string
	message

	tries int
	shard int
}

// message is the part of a pending event that is written.
type message interface {
	// send writes it once. Of a repetition that needs no write of its own, the first
	// send does nothing.
	send(ctx context.Context, s *sink, again bool) error
	// name returns the event's name, for logs, and its reason.
	name() (event klog.ObjectRef, reason string)
}

// coreMessage is an event of the core API, which the correlator has merged with equal events before
// it is sent again.
type coreMessage struct {
	event   *v1.Event
	manager string
	patch   []byte
}

func (m *coreMessage) name() (event klog.ObjectRef, reason string) {
	return klog.KObj(m.event), m.event.Reason
}

// NewRecorder returns a recorder for the component. Events wait in its queue
// until Run writes them.
func NewRecorder(client corev1client.EventsGetter, clk clock.Clock, ledger *clock.Ledger, random *clock.Random, component string) *Recorder {
	s := &sink{
		client:     client,
		clock:      clk,
		stamps:     newStamps(clk, random),
		correlator: record.NewEventCorrelator(newStamps(clk, random)),
		seed:       maphash.MakeSeed(),
	}
	for i := range s.queues {
		s.queues[i] = inflight.NewQueue(inflight.QueueOptions[*pending]{Ledger: ledger, Name: "events", KeyName: (*pending).key})
	}
	s.retries = inflight.NewAlarms(clk, s.enqueue)
	return &Recorder{sink: s, source: v1.EventSource{Component: component}, scheme: scheme.Scheme}
}

// For returns a recorder of the same queue that reports as component.
func (r *Recorder) For(component string) *Recorder {
	return r.WithSource(v1.EventSource{Component: component})
}

// WithSource returns a recorder of the same queue that reports as source; a
// kubelet names its node as the host.
func (r *Recorder) WithSource(source v1.EventSource) *Recorder {
	other := *r
	other.source = source
	return &other
}

// OwnedBy returns a recorder of the same queue whose events have the given owner of their fields
// (metadata.managedFields), as if a program with that name wrote them; empty is the client's own.
func (r *Recorder) OwnedBy(manager string) *Recorder {
	other := *r
	other.manager = manager
	return &other
}

// WithScheme returns a recorder of the same queue that finds the kinds of objects in a
// scheme, instead of client-go's.
func (r *Recorder) WithScheme(scheme *runtime.Scheme) *Recorder {
	other := *r
	other.scheme = scheme
	return &other
}

// Event reports something about object, which is an API object or a
// *v1.ObjectReference. A nil Recorder reports nothing.
func (r *Recorder) Event(object runtime.Object, eventtype, reason, message string) {
	r.report(object, nil, eventtype, reason, message)
}

// Eventf is Event with a format.
func (r *Recorder) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	r.report(object, nil, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

// AnnotatedEventf is Eventf with annotations on the event.
func (r *Recorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any) {
	r.report(object, annotations, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

// Dropped returns how many events found the queue full.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

func (r *Recorder) report(object runtime.Object, annotations map[string]string, eventtype, reason, message string) {
	if r == nil {
		return
	}
	ref := r.refer(object, eventtype, reason, message)
	if ref == nil {
		return
	}
	r.enqueue(&pending{
		about: ref, component: r.source.Component, shard: r.shardOf(ref),
		message: &coreMessage{event: r.event(ref, annotations, eventtype, reason, message), manager: r.manager},
	})
}

// refer returns a reference to the object of an event; nil if the event cannot be reported.
func (r *Recorder) refer(object runtime.Object, eventtype, reason, message string) *v1.ObjectReference {
	ref, err := reference.GetReference(r.scheme, object)
	if err != nil {
		klog.Background().Error(err, "Cannot report an event: its object has no reference", "reason", reason, "message", message)
		return nil
	}
	if !util.ValidateEventType(eventtype) {
		klog.Background().Error(nil, "Cannot report an event of this type", "type", eventtype, "reason", reason)
		return nil
	}
	return ref
}

func (r *Recorder) event(ref *v1.ObjectReference, annotations map[string]string, eventtype, reason, message string) *v1.Event {
	now := metav1.NewTime(r.clock.Now())
	namespace := ref.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &v1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:        util.GenerateEventName(ref.Name, r.stamps.about(series{r.source.Component, ref.Namespace, ref.Name}).UnixNano()),
			Namespace:   namespace,
			Annotations: annotations,
		},
		InvolvedObject:      *ref,
		Reason:              reason,
		Message:             message,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
		Type:                eventtype,
		Source:              r.source,
		ReportingController: r.source.Component,
		ReportingInstance:   r.source.Host,
	}
}

func (s *sink) shardOf(ref *v1.ObjectReference) int {
	return int(maphash.String(s.seed, ref.Namespace+"/"+ref.Name) % shards)
}

// key names the event in the order of turns.
func (p *pending) key() string { return p.about.Namespace + "/" + p.about.Name + "/" + p.component }

// enqueue never blocks.
func (s *sink) enqueue(p *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.queues[p.shard]
	if !s.closed && (queue.TakesTurns() || queue.Len() < queueLength) {
		queue.Add(p)
		return
	}
	if s.dropped.Add(1) == 1 {
		_, reason := p.name()
		klog.Background().Info("Dropping events: the queue is full or has ended", "reason", reason, "object", klog.KRef(p.about.Namespace, p.about.Name))
	}
}
