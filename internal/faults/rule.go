package faults

import (
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// Request has the attributes of a request that rules match.
type Request struct {
	// Verb is one of the API's verbs: get, list, watch, create, update, patch, delete,
	// deletecollection.
	Verb            string
	Group, Resource string
	Subresource     string
	Namespace, Name string
	User, UserAgent string
}

// Match selects requests. An empty list matches all.
type Match struct {
	Verbs []string
	// Resources are written as pods, pods/status, deployments.apps, or pods/* for all
	// subresources; pods alone does not match subresources.
	Resources  []string
	Namespaces []string
	// Names are names of objects, including objects to be created.
	Names []string
	// Users are names of users, UserAgents substrings of the User-Agent.
	Users, UserAgents []string
}

// Matches reports whether a request is selected.
func (m *Match) Matches(r *Request) bool {
	return (len(m.Verbs) == 0 || slices.Contains(m.Verbs, r.Verb)) &&
		(len(m.Resources) == 0 || slices.ContainsFunc(m.Resources, r.isFor)) &&
		(len(m.Namespaces) == 0 || slices.Contains(m.Namespaces, r.Namespace)) &&
		(len(m.Names) == 0 || slices.Contains(m.Names, r.Name)) &&
		(len(m.Users) == 0 || slices.Contains(m.Users, r.User)) &&
		(len(m.UserAgents) == 0 || slices.ContainsFunc(m.UserAgents, func(part string) bool { return strings.Contains(r.UserAgent, part) }))
}

func (r *Request) isFor(pattern string) bool {
	resource, sub, _ := strings.Cut(pattern, "/")
	resource, group, grouped := strings.Cut(resource, ".")
	return (resource == "*" || resource == r.Resource) && (!grouped || group == r.Group) &&
		(sub == r.Subresource || sub == "*" || pattern == "*")
}

// Rule is a fault for the requests that match.
type Rule struct {
	Match
	// Skip is how many of them are not affected at first, and Times how many are affected at most
	// after that; 0 means all.
	Skip, Times int
	// Share is the fraction of the others that is affected, in (0, 1]; 0 means all.
	Share float64
	// Latency is added to their duration, in time of the clock, and a random part of
	// Jitter.
	Latency, Jitter time.Duration
	// Code is the HTTP status with which they are refused, before any effect; 0: they
	// are not refused. Reason and Message override the reason and message of the Status that follows
	// from the code.
	Code            int
	Reason, Message string
	// RetryAfter is the Retry-After of the refusal, in seconds.
	RetryAfter int
	// Err, if not nil, is the error with which they are refused instead, of
	// k8s.io/apimachinery/pkg/api/errors, such as NewConflict returns. Other errors become an
	// InternalError.
	Err error
	// Behind, if above 0, is the revision at which gets and lists with
	// resourceVersion=0 are served, as from a cache that lags behind.
	Behind int64

	// met counts the requests that matched. The lock of the Faults guards it.
	met int
	// delays are the requests that the rule delays.
	delays *inflight.Delays
}

// refuses reports whether the rule refuses requests.
func (r *Rule) refuses() bool { return r.Code != 0 || r.Err != nil }

// counts counts a request that matches, and reports whether it is affected.
func (r *Rule) counts() bool {
	r.met++
	return r.met > r.Skip && (r.Times == 0 || r.met <= r.Skip+r.Times)
}
