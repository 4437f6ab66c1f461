package faults

import (
	"slices"
	"strings"
	"time"
)

// Request is what is known of a request.
type Request struct {
	// Verb is one of the API's verbs: get, list, watch, create, update, patch, delete,
	// deletecollection.
	Verb            string
	Group, Resource string
	Subresource     string
	Namespace, Name string
	User, UserAgent string
}

// Match says which requests are meant. An empty list means all.
type Match struct {
	Verbs []string
	// Resources are written pods, pods/status, deployments.apps, or pods/* for all
	// subresources; pods alone does not mean subresources.
	Resources  []string
	Namespaces []string
	// Users are whose requests, and UserAgents what their User-Agents contain.
	Users, UserAgents []string
}

// Matches reports whether a request is meant.
func (m *Match) Matches(r *Request) bool {
	return (len(m.Verbs) == 0 || slices.Contains(m.Verbs, r.Verb)) &&
		(len(m.Resources) == 0 || slices.ContainsFunc(m.Resources, r.isFor)) &&
		(len(m.Namespaces) == 0 || slices.Contains(m.Namespaces, r.Namespace)) &&
		(len(m.Users) == 0 || slices.Contains(m.Users, r.User)) &&
		(len(m.UserAgents) == 0 || slices.ContainsFunc(m.UserAgents, func(part string) bool { return strings.Contains(r.UserAgent, part) }))
}

func (r *Request) isFor(pattern string) bool {
	resource, sub, _ := strings.Cut(pattern, "/")
	resource, group, grouped := strings.Cut(resource, ".")
	return (resource == "*" || resource == r.Resource) && (!grouped || group == r.Group) &&
		(sub == r.Subresource || sub == "*" || pattern == "*")
}

// Rule is what happens to the requests that match.
type Rule struct {
	Match
	// Share is to what share of them, in (0, 1]; 0 is all.
	Share float64
	// Latency is how much longer they take, of the clock's time, and up to Jitter more.
	Latency, Jitter time.Duration
	// Code is the HTTP status that they are refused with, before anything is done; 0:
	// they are not. Reason and Message are those of the Status, if they are not to
	// follow from the code.
	Code            int
	Reason, Message string
	// RetryAfter is after how many seconds the client is asked to try again.
	RetryAfter int
	// Behind, if it is above 0, is the revision whose state gets and lists with
	// resourceVersion=0 are answered with: that of a cache that has fallen behind.
	Behind int64
}
