package client

import (
	"context"
	"net/http"
	"time"
)

// Info describes a cluster.
type Info struct {
	// Version is the version of minikcm, Kubernetes the version of the API that it serves.
	Version    string `json:"version"`
	Kubernetes string `json:"kubernetes"`
	// Features are the names that are served beneath /minikcm/v1/.
	Features []string `json:"features"`
	// Seed is the seed of the cluster's random choices.
	Seed  uint64 `json:"seed"`
	Clock Clock  `json:"clock"`
	// History is how much of the store's history is kept, if that was chosen: a duration, or a
	// number of revisions.
	History string `json:"history"`
	// Fork says of which moment of another cluster this one is a fork; nil if it is none.
	Fork *ForkInfo `json:"fork"`
}

// ForkInfo identifies a fork: its name in the forked cluster, and the revision and the time of that
// cluster with which it began.
type ForkInfo struct {
	ID       string    `json:"id"`
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"`
}

// Controller is the state of a controller.
type Controller struct {
	Name  string `json:"name"`
	About string `json:"about"`
	State string `json:"state"`
	// Queued is the number of keys that wait in its queue.
	Queued int `json:"queued"`
	// Reconciles, Failures, Retries and Panics count since the start of the cluster.
	Reconciles int64 `json:"reconciles"`
	Failures   int64 `json:"failures"`
	Retries    int64 `json:"retries"`
	Panics     int64 `json:"panics"`
	// Failing are the keys whose last reconcile failed.
	Failing []struct {
		Key      string `json:"key"`
		Failures int    `json:"failures"`
	} `json:"failing"`
	// LastError is the last error of a reconcile; nil: there was none.
	LastError *struct {
		Key     string    `json:"key"`
		Message string    `json:"message"`
		Time    time.Time `json:"time"`
	} `json:"lastError"`
}

// Info describes the cluster.
func (c *Cluster) Info(ctx context.Context) (*Info, error) {
	info := &Info{}
	return info, c.ask(ctx, http.MethodGet, "/minikcm/v1", nil, nil, info)
}

// Controllers returns the state of every controller, whether it runs or not.
func (c *Cluster) Controllers(ctx context.Context) ([]Controller, error) {
	var all []Controller
	err := c.ask(ctx, http.MethodGet, "/minikcm/v1/controllers", nil, nil, &all)
	return all, err
}

// Resets waits until the cluster is ready, and returns how often it has been reset.
func (c *Cluster) Resets(ctx context.Context) (int, error) {
	var now resets
	err := c.ask(ctx, http.MethodGet, resetPath, nil, nil, &now)
	return now.Resets, err
}
