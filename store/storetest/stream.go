package storetest

import (
	"errors"
	"fmt"

	"minikcm.dev/minikcm/store"
)

// EventType is what a watcher is told.
type EventType string

// The types of event.
const (
	Put    EventType = "put"
	Delete EventType = "delete"
	// Progress (a bookmark) says that everything up to its revision has been told.
	Progress EventType = "progress"
)

// Event is one thing that a watcher is told, or one thing that happened.
type Event struct {
	Type     EventType
	Revision int64
	// Key and Value are empty for progress. Value is whatever identifies the
	// state; a deletion has none.
	Key, Value string
	// Previous is the revision of the state before, where the layer tells it.
	Previous int64
	// Delivery numbers what was handed over at once: events with the same number
	// arrived together. A layer that delivers one by one leaves it 0.
	Delivery int
}

func (e Event) String() string {
	return fmt.Sprintf("%s %s=%.20q at %d", e.Type, e.Key, e.Value, e.Revision)
}

// Stream is what one watch told, from its beginning on.
type Stream struct {
	// Prefix of the keys watched.
	Prefix string
	// From is the first revision wanted.
	From int64
	// Events in the order of their arrival.
	Events []Event
	// Compacted says that the watch ended because From was compacted.
	Compacted bool
}

// Reached is the revision up to which the stream has told everything.
func (s *Stream) Reached() int64 {
	reached := s.From - 1
	for _, event := range s.Events {
		reached = max(reached, event.Revision)
	}
	return reached
}

// Add appends a store's batch.
func (s *Stream) Add(batch store.Batch) {
	delivery := 1
	if n := len(s.Events); n > 0 {
		delivery = s.Events[n-1].Delivery + 1
	}
	if len(batch.Events) == 0 {
		s.Events = append(s.Events, Event{Type: Progress, Revision: batch.Revision, Delivery: delivery})
	}
	for _, event := range batch.Events {
		told := fromStore(event)
		told.Delivery = delivery
		s.Events = append(s.Events, told)
	}
}

// End notes why a store's watch ended.
func (s *Stream) End(err error) {
	compacted := (*store.CompactedError)(nil)
	s.Compacted = errors.As(err, &compacted)
}

func fromStore(event store.Event) Event {
	told := Event{Type: Put, Revision: event.KeyValue.ModRevision, Key: event.KeyValue.Key, Value: string(event.KeyValue.Value)}
	if event.Type == store.Delete {
		told.Type = Delete
	}
	if event.Previous != nil {
		told.Previous = event.Previous.ModRevision
	}
	return told
}
