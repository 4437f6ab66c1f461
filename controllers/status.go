package controllers

import (
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/loop"
)

// State is the state of a controller.
type State string

// The states of a controller.
const (
	// Disabled: the controller is not selected.
	Disabled State = "Disabled"
	// Waiting: the controller has not been started yet.
	Waiting State = "Waiting"
	// Running: the controller works.
	Running State = "Running"
	// Failed: the controller waits to be restarted.
	Failed State = "Failed"
	// Stopped: the manager has ended.
	Stopped State = "Stopped"
)

// Status is a manager's report about one controller.
type Status struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	About   string   `json:"about"`
	State   State    `json:"state"`
	// Since is the time of the cluster's clock at which the controller entered State.
	Since *metav1.Time `json:"since,omitempty"`
	// Restarts counts how often the controller was restarted after a failure.
	Restarts int `json:"restarts"`
	// Workers is the configured number of keys that are reconciled at once; 0: no limit is
	// set.
	Workers int `json:"workers,omitempty"`
	// Queued counts keys in the queues. Failing are the keys whose last reconcile failed,
	// the worst ones only.
	Queued     int          `json:"queued"`
	InProgress []InProgress `json:"inProgress,omitempty"`
	Failing    []Failing    `json:"failing,omitempty"`
	Reconciles int64        `json:"reconciles"`
	Failures   int64        `json:"failures"`
	Retries    int64        `json:"retries"`
	Panics     int64        `json:"panics"`
	LastError  *LastError   `json:"lastError,omitempty"`
}

// InProgress is a key that is being reconciled.
type InProgress struct {
	Key   string      `json:"key"`
	Since metav1.Time `json:"since"`
}

// Failing is a key that is being retried, with its number of consecutive failures.
type Failing struct {
	Key      string `json:"key"`
	Failures int    `json:"failures"`
}

// LastError is the most recent failure.
type LastError struct {
	// Key is the key whose reconcile failed; empty: the controller itself failed.
	Key     string      `json:"key,omitempty"`
	Message string      `json:"message"`
	Time    metav1.Time `json:"time"`
}

// maxFailing caps the failing keys in the status of one controller.
const maxFailing = 10

// Status returns the status of every controller in the table, in the table's order.
func (m *Manager) Status() []Status {
	all := make([]Status, 0, len(m.table))
	for _, d := range m.table {
		s := Status{Name: d.Name, Aliases: d.Aliases, About: d.About, State: Disabled}
		for _, c := range m.members {
			if c.descriptor.Name == d.Name {
				c.describe(&s)
			}
		}
		all = append(all, s)
	}
	return all
}

// Loops returns the loops of the controller of that name; ok is false if there is no such
// controller. A controller that is restarted gets new loops.
func (m *Manager) Loops(name string) (loops []loop.Loop, ok bool) {
	for _, c := range m.members {
		if c.descriptor.Name == name {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.loops.Loops(), true
		}
	}
	return nil, false
}

func (c *member) describe(s *Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.State, s.Restarts, s.Workers = c.state, c.restarts, c.env.Workers[c.descriptor.Name]
	if !c.since.IsZero() {
		s.Since = &metav1.Time{Time: c.since}
	}
	if c.lastError != "" {
		s.LastError = &LastError{Message: c.lastError, Time: metav1.NewTime(c.lastTime)}
	}
	for _, l := range c.loops.Stats() {
		s.Queued += l.Queued
		s.Reconciles += l.Reconciles
		s.Failures += l.Failures
		s.Retries += l.Retries
		s.Panics += l.Panics
		for _, p := range l.InProgress {
			s.InProgress = append(s.InProgress, InProgress{keyText(p.Key), metav1.NewTime(p.Since)})
		}
		s.Failing = append(s.Failing, worst(l.Failing)...)
		if l.LastError != "" && (s.LastError == nil || l.LastErrorTime.After(s.LastError.Time.Time)) {
			s.LastError = &LastError{Key: keyText(l.LastErrorKey), Message: l.LastError, Time: metav1.NewTime(l.LastErrorTime)}
		}
	}
}

// Healthy returns an error while the controller of that name has failed and waits to be
// restarted. A controller that is not selected is healthy.
func (m *Manager) Healthy(name string) error {
	for _, c := range m.members {
		if c.descriptor.Name != name {
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.state == Failed {
			return fmt.Errorf("the controller failed at %s: %s", c.lastTime.UTC().Format(time.RFC3339), c.lastError)
		}
	}
	return nil
}

// Debug returns the debug handler of the controller of that name; nil: it has none.
func (m *Manager) Debug(name string) http.Handler {
	for _, c := range m.members {
		if c.descriptor.Name != name {
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.current != nil {
			return c.current.Debug
		}
	}
	return nil
}

// Members returns the names of the controllers that the manager runs, in the table's order.
func (m *Manager) Members() []string {
	var names []string
	for _, c := range m.members {
		names = append(names, c.descriptor.Name)
	}
	return names
}
