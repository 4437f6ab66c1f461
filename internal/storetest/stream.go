package storetest

import (
	"errors"
	"fmt"

	"minikcm.dev/minikcm/store"
)

// EventType is the type of an event of a stream.
type EventType string

// The types of event.
const (
	Put    EventType = "put"
	Delete EventType = "delete"
	// Progress (a bookmark) means that all events up to its revision have been
	// delivered.
	Progress EventType = "progress"
)

// Event is one event that a watch delivered, or one change that happened.
type Event struct {
	Type     EventType
	Revision int64
	// Key and Value are empty for progress. Value identifies the state; a deletion has
	// none.
	Key, Value string
	// Delivery numbers deliveries: events with the same number arrived together. A
	// layer that delivers events one by one leaves it 0.
	Delivery int
}

func (e Event) String() string {
	return fmt.Sprintf("%s %s=%.20q at %d", e.Type, e.Key, e.Value, e.Revision)
}

// Stream holds the events that one watch has delivered since its start.
type Stream struct {
	// Prefix is the prefix of the watched keys.
	Prefix string
	// From is the first revision requested.
	From int64
	// Events are in the order of arrival.
	Events []Event
	// Compacted reports that the watch ended because From was compacted.
	Compacted bool
}

// Reached returns the revision up to which the stream has delivered everything.
func (s *Stream) Reached() int64 {
	reached := s.From - 1
	for _, event := range s.Events {
		reached = max(reached, event.Revision)
	}
	return reached
}

// Add appends a batch of a store's watch.
func (s *Stream) Add(batch store.Batch) {
	delivery := 1
	if n := len(s.Events); n > 0 {
		delivery = s.Events[n-1].Delivery + 1
	}
	if len(batch.Events) == 0 {
		s.Events = append(s.Events, Event{Type: Progress, Revision: batch.Revision, Delivery: delivery})
	}
	for _, event := range batch.Events {
		converted := fromStore(event)
		converted.Delivery = delivery
		s.Events = append(s.Events, converted)
	}
}

// End records why a store's watch ended.
func (s *Stream) End(err error) {
	compacted := (*store.CompactedError)(nil)
	s.Compacted = errors.As(err, &compacted)
}

func fromStore(event store.Event) Event {
	converted := Event{Type: Put, Revision: event.KeyValue.ModRevision, Key: event.KeyValue.Key, Value: string(event.KeyValue.Value)}
	if event.Type == store.Delete {
		converted.Type = Delete
	}
	return converted
}
