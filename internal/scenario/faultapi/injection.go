package faultapi

import (
	"encoding/json"
	"time"
)

// State is the state of a fault.
type State string

// The states of a fault.
const (
	// Pending faults have not been injected yet.
	Pending State = "Pending"
	// Active faults have been injected, and last or will be injected again.
	Active State = "Active"
	// Ending faults are being taken back.
	Ending State = "Ending"
	// Over faults ended at their time.
	Over State = "Over"
	// Stopped faults were taken back before their end.
	Stopped State = "Stopped"
	// Failed faults could not be injected or taken back: Injection.Error says why.
	Failed State = "Failed"
)

// Done reports whether the state is final.
func (s State) Done() bool { return s == Over || s == Stopped || s == Failed }

// Injection is a fault that was injected, as the API shows it. Times are the cluster's.
type Injection struct {
	ID string `json:"id"`
	// Title says in a few words what the fault does.
	Title string `json:"title"`
	// Fault is the fault itself, with its defaults filled in.
	Fault json.RawMessage `json:"fault"`
	// User injected it.
	User  string `json:"user,omitempty"`
	State State  `json:"state"`
	// Since is when it was injected, and Until when it is over; absent while only a
	// request ends it, or its end is not known yet.
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until,omitempty"`
	// Times counts its occurrences.
	Times int `json:"times"`
	// Notes say what was hit and what was taken back. They are the newest; Forgotten counts the
	// older ones that are left out.
	Notes     []Note `json:"notes,omitempty"`
	Forgotten int    `json:"forgotten,omitempty"`
	// Error says why it Failed.
	Error string `json:"error,omitempty"`
}

// Note is one thing that a fault did.
type Note struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// List is the response of GET /minikcm/v1/faults: all faults that are not done and the newest done
// ones, oldest first.
type List struct {
	// Now is the cluster's time.
	Now   time.Time   `json:"now"`
	Items []Injection `json:"items"`
}
