package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Fault is a fault that was injected. Times are the cluster's.
type Fault struct {
	ID string `json:"id"`
	// Title says what the fault does.
	Title string `json:"title"`
	// Document is the fault with its defaults, in JSON.
	Document json.RawMessage `json:"fault"`
	// State is Pending, Active or Ending, and finally Over, Stopped or Failed.
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Until is when it is or was over; nil while only Stop ends it.
	Until *time.Time `json:"until"`
	// Times is how often it was injected.
	Times int `json:"times"`
	// Notes list what the fault has broken and restored.
	Notes []FaultNote `json:"notes"`
	// Error says why the state is Failed.
	Error string `json:"error"`
}

// FaultNote is one thing that a fault did.
type FaultNote struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

const faultsPath = "/minikcm/v1/faults"

// Fail injects a fault, such as "nodes: {action: crash, names: [node-1]}\nfor: 5m". It returns
// when the cluster has accepted it. docs/faults.md of minikcm describes all faults.
func (c *Cluster) Fail(ctx context.Context, document string) (*Fault, error) {
	fault := &Fault{}
	return fault, c.ask(ctx, http.MethodPost, faultsPath, nil, []byte(document), fault)
}

// Fault returns the state of a fault.
func (c *Cluster) Fault(ctx context.Context, id string) (*Fault, error) {
	fault := &Fault{}
	return fault, c.ask(ctx, http.MethodGet, faultsPath+"/"+url.PathEscape(id), nil, nil, fault)
}

// Faults returns the faults that are not over, and the newest faults that are over.
func (c *Cluster) Faults(ctx context.Context) ([]Fault, error) {
	var list struct {
		Items []Fault `json:"items"`
	}
	err := c.ask(ctx, http.MethodGet, faultsPath, nil, nil, &list)
	return list.Items, err
}

// StopFault takes a fault back, and returns when that is done.
func (c *Cluster) StopFault(ctx context.Context, id string) (*Fault, error) {
	fault := &Fault{}
	return fault, c.ask(ctx, http.MethodDelete, faultsPath+"/"+url.PathEscape(id), nil, nil, fault)
}
