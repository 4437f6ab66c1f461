package decide

import (
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Write is the kind of write that a step makes to its object.
type Write int

// The writes of steps. Nothing ends the steps: there is nothing left to write.
const (
	Nothing Write = iota
	Create
	Update
	UpdateStatus
	Delete
)

// Step is the next write, and the events to record with it.
type Step struct {
	Write Write
	// Object is the PersistentVolume, PersistentVolumeClaim or recycler pod that is written; nil
	// with Nothing.
	Object plan.Object
	Events []Event
}

// Event is an event about a volume or a claim.
type Event struct {
	About plan.Object
	plan.Event
}

func event(about plan.Object, kind, reason, message string) Event {
	return Event{About: about, Event: plan.Event{Type: kind, Reason: reason, Message: message}}
}

// report returns a step that only records an event.
func report(about plan.Object, kind, reason, message string) Step {
	return Step{Events: []Event{event(about, kind, reason, message)}}
}

// warn returns a step that only records a warning.
func warn(about plan.Object, reason, message string) Step {
	return report(about, corev1.EventTypeWarning, reason, message)
}
