package manager

import (
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State is what a controller is doing.
type State string

// The states of a controller.
const (
	// Disabled: it was not selected.
	Disabled State = "Disabled"
	// Waiting: it has not been started yet.
	Waiting State = "Waiting"
	// Running: it works.
	Running State = "Running"
	// Failed: it will be made again after a while.
	Failed State = "Failed"
	// Stopped: the manager has ended.
	Stopped State = "Stopped"
)

// Status is what a manager tells about one controller.
type Status struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	About   string   `json:"about"`
	State   State    `json:"state"`
	// Since is the cluster's time since which it is in this state.
	Since *metav1.Time `json:"since,omitempty"`
	// Restarts is how often it was made again because it had failed.
	Restarts int `json:"restarts"`
	// Workers is how many keys its queue's settings let it work on at once; 0: as it likes.
	Workers int `json:"workers,omitempty"`
	// Queued and InProgress are keys; Failing are those that the last reconcile
	// failed for.
	Queued     int          `json:"queued"`
	InProgress []InProgress `json:"inProgress,omitempty"`
	Failing    []Failing    `json:"failing,omitempty"`
	Reconciles int64        `json:"reconciles"`
	Failures   int64        `json:"failures"`
	Retries    int64        `json:"retries"`
	Panics     int64        `json:"panics"`
	LastError  *LastError   `json:"lastError,omitempty"`
}

// InProgress is a key that is being worked on.
type InProgress struct {
	Key   string      `json:"key"`
	Since metav1.Time `json:"since"`
}

// Failing is a key that is tried again, after so many failures in a row.
type Failing struct {
	Key      string `json:"key"`
	Failures int    `json:"failures"`
}

// LastError is the newest failure.
type LastError struct {
	// Key is what the failure was about; empty: the controller itself.
	Key     string      `json:"key,omitempty"`
	Message string      `json:"message"`
	Time    metav1.Time `json:"time"`
}

// maxFailing bounds the failing keys that are listed of one controller.
const maxFailing = 10

// Status returns what every controller of the table is doing, in its order.
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

// Healthy is nil while the controller of that name works, or has not been asked to.
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

// Debugging is a controller that has something to show for itself.
type Debugging interface {
	// Debug serves what there is to see at /debug/controllers/NAME.
	Debug() http.Handler
}

// Debug returns what the controller of that name shows; nil: it shows nothing.
func (m *Manager) Debug(name string) http.Handler {
	for _, c := range m.members {
		if c.descriptor.Name != name {
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if d, ok := c.current.(Debugging); ok {
			return d.Debug()
		}
	}
	return nil
}

// Members returns the names of the controllers that it runs, in the table's order.
func (m *Manager) Members() []string {
	var names []string
	for _, c := range m.members {
		names = append(names, c.descriptor.Name)
	}
	return names
}
