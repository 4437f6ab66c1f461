package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Write is one revision of the write record.
type Write struct {
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"`
	// Actor is the user, UserAgent the user's client.
	Actor     string `json:"actor"`
	UserAgent string `json:"userAgent"`
	// Verb is the request's verb: create, update, patch, delete.
	Verb        string   `json:"verb"`
	Resource    Resource `json:"resource"`
	Subresource string   `json:"subresource"`
	Kind        string   `json:"kind"`
	// Effect is the write's effect on its object: created, changed or removed.
	Effect    string `json:"effect"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Causes are the revisions whose events caused this one.
	Causes []int64 `json:"causes"`
	// Changes are the fields that changed.
	Changes []Change `json:"changes"`
}

// Resource identifies a resource by its plural name, in a version of its group.
type Resource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// Change is a field that a write changed.
type Change struct {
	Path string `json:"path"`
	From string `json:"from"`
	To   string `json:"to"`
}

// WritesOf selects writes; empty fields select all.
type WritesOf struct {
	// Resource is a plural name, such as pods.
	Resource, Namespace, Name string
	// Since selects later revisions, and writes that were recorded after the one of this revision:
	// concurrent writes are recorded as they end. A reader that sets it to its newest revision misses
	// none, and may get a write again.
	Since int64
}

// Link is a write and its causes.
type Link struct {
	Write
	Because []*Link `json:"because"`
	// Inferred says, for a probable cause that is not recorded, how its object is related to
	// the one whose write it caused.
	Inferred string `json:"inferred"`
	// Note says why the chain ends here.
	Note string `json:"note"`
}

// Explanation explains an object by the causes of its writes. Creation, Change and Deletion are
// its first write, the last change before its deletion, and its deletion; nil if there was
// none.
type Explanation struct {
	Object   Write `json:"object"`
	Creation *Link `json:"creation"`
	Change   *Link `json:"change"`
	Deletion *Link `json:"deletion"`
}

// Writes returns the write record, in the order of revisions.
func (c *Cluster) Writes(ctx context.Context, of WritesOf) ([]Write, error) {
	query := url.Values{}
	for name, value := range map[string]string{"resource": of.Resource, "namespace": of.Namespace, "name": of.Name} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if of.Since > 0 {
		query.Set("since", strconv.FormatInt(of.Since, 10))
	}
	var writes []Write
	err := c.ask(ctx, http.MethodGet, "/minikcm/v1/writes", query, nil, &writes)
	return writes, err
}

// Revisions are the oldest and the newest revision at which objects can be listed.
type Revisions struct {
	Oldest int64 `json:"oldest"`
	Newest int64 `json:"newest"`
}

// Revisions returns the revisions at which objects can be listed.
func (c *Cluster) Revisions(ctx context.Context) (Revisions, error) {
	var revisions Revisions
	err := c.ask(ctx, http.MethodGet, "/minikcm/v1/revisions", nil, nil, &revisions)
	return revisions, err
}

// Refusal counts the requests of one user for one object, or for new objects of one owner, that the
// same thing refused.
type Refusal struct {
	Actor       string    `json:"actor"`
	UserAgent   string    `json:"userAgent"`
	Verb        string    `json:"verb"`
	Resource    Resource  `json:"resource"`
	Subresource string    `json:"subresource"`
	Kind        string    `json:"kind"`
	Namespace   string    `json:"namespace"`
	Name        string    `json:"name"`
	By          Refuser   `json:"by"`
	Code        int       `json:"code"`
	Message     string    `json:"message"`
	Count       int64     `json:"count"`
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
}

// Refuser identifies the cause of refused requests. Kind is webhook, policy, quota, budget,
// admissionPlugin, authorization, flowControl, timeout, store or fault. Of is the name of a webhook's
// configuration or of a policy's binding.
type Refuser struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Of   string `json:"of"`
}

// Refusals returns the refused requests, ordered by their first refusal.
func (c *Cluster) Refusals(ctx context.Context) ([]Refusal, error) {
	var refusals []Refusal
	err := c.ask(ctx, http.MethodGet, "/minikcm/v1/refusals", nil, nil, &refusals)
	return refusals, err
}

// Why explains an object by the causes of its writes. resource is a plural name, such as pods;
// namespace is empty for objects of the whole cluster.
func (c *Cluster) Why(ctx context.Context, resource, namespace, name string) (*Explanation, error) {
	query := url.Values{"resource": {resource}, "namespace": {namespace}, "name": {name}}
	explanation := &Explanation{}
	return explanation, c.ask(ctx, http.MethodGet, "/minikcm/v1/why", query, nil, explanation)
}

// String formats the explanation as an indented list: each write, and below it its causes.
func (e *Explanation) String() string {
	var b strings.Builder
	for _, part := range []struct {
		title string
		link  *Link
	}{{"created", e.Creation}, {"changed", e.Change}, {"deleted", e.Deletion}} {
		if part.link != nil {
			fmt.Fprintf(&b, "%s:\n", part.title)
			part.link.write(&b, 1)
		}
	}
	return b.String()
}

func (l *Link) write(b *strings.Builder, depth int) {
	name := l.Name
	if l.Namespace != "" {
		name = l.Namespace + "/" + name
	}
	fmt.Fprintf(b, "%s%d %s %s %s by %s", strings.Repeat("  ", depth), l.Revision, l.Verb, l.Resource.Resource, name, l.Actor)
	if l.Inferred != "" {
		fmt.Fprintf(b, " (inferred: %s)", l.Inferred)
	}
	if l.Note != "" {
		fmt.Fprintf(b, " (%s)", l.Note)
	}
	b.WriteByte('\n')
	for _, cause := range l.Because {
		cause.write(b, depth+1)
	}
}

// Snapshot writes a snapshot of the store to a new file, in etcd's format. Option
// Args("--from-snapshot", file) starts a cluster with it.
func (c *Cluster) Snapshot(ctx context.Context, file string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("taking a snapshot: %w", err)
		}
	}()
	res, err := c.send(ctx, http.MethodGet, "/minikcm/v1/snapshot", nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, res.Body)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}

const resetPath = "/minikcm/v1/reset"

// resets is the response to a reset.
type resets struct {
	Resets int `json:"resets"`
}

// resetRetry is the time until a refused connection is tried again.
const resetRetry = 20 * time.Millisecond

// Reset resets the cluster to its initial state, and returns when it is ready again. The
// address and the kubeconfig stay the same.
func (c *Cluster) Reset(ctx context.Context) error {
	var wanted resets
	if err := c.ask(ctx, http.MethodPost, resetPath, nil, nil, &wanted); err != nil {
		return err
	}
	retry := time.NewTicker(resetRetry) // between the two clusters, connections are refused
	defer retry.Stop()
	for {
		now, err := c.Resets(ctx)
		if err == nil && now >= wanted.Resets {
			return nil
		}
		select {
		case <-retry.C:
		case <-c.done:
			return c.ended()
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}
