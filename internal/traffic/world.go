package traffic

import "time"

// Way is where a share of a route's connections lead at present: to a server, or to a failure.
type Way struct {
	// Share is the part of the connections, from 0 to 1.
	Share float64
	// Server is the server; nil: the connections fail for the Cause, After some time.
	Server Server
	Cause  Cause
	After  time.Duration
	// Where says in words where they fail.
	Where string
}

// Server is a run of a program that answers requests.
type Server interface {
	// ID identifies the run.
	ID() string
	// Name names the server for people.
	Name() string
	Profile() Profile
	// Started is when the run began.
	Started() time.Time
	// State is the present state.
	State() State
	// Invalid is why the description of the server has no effect; nil: it has, or there is none.
	Invalid() error
	// Deleted reports whether it is being deleted, or is gone.
	Deleted() bool
}

// State is the state of a server.
type State int

// The states.
const (
	// Serving: it answers.
	Serving State = iota
	// Finishing: it finishes the requests that it has, and takes no new ones.
	Finishing
	// Finished: it will end when it has finished the requests that it has, and nothing changes that any more.
	Finished
	// Ended: it has lost the requests that it had.
	Ended
	// Silent: nothing that it sends arrives.
	Silent
)
