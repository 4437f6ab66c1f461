package traffic

import (
	"time"

	"minikcm.dev/minikcm/internal/traffic/arrivals"
	"minikcm.dev/minikcm/internal/traffic/latency"
)

// Profile is how a server answers requests. The zero value answers any number of them at once.
type Profile struct {
	// Service is how long a request takes while a worker has it.
	Service latency.Distribution
	// Workers is how many requests are served at the same time; 0: any number.
	Workers int
	// Queue is how many requests wait for a worker at most; further ones are answered with an error at once. Negative: MaxOpen.
	Queue int
	// ErrorRate is the share of answers that are errors, from 0 to 1.
	ErrorRate float64
	// WarmUp is how long after its start a server is slower. Service times fall from WarmFactor times the usual ones to these, linearly.
	WarmUp     time.Duration
	WarmFactor float64
	// Finishes means that, at SIGTERM, the server takes no new connections and finishes the requests that it has. Otherwise, it goes on until
	// it ends, and loses them then.
	Finishes bool
}

// MaxOpen is the largest number of requests that a server has, waiting or in service. Further ones find its queue full.
const MaxOpen = 100_000

// Slower returns by how much service times are longer so long after the start of the server.
func (p *Profile) Slower(since time.Duration) float64 {
	if since >= p.WarmUp || p.WarmFactor <= 1 {
		return 1
	}
	return p.WarmFactor - (p.WarmFactor-1)*since.Seconds()/p.WarmUp.Seconds()
}

// Source is when requests are sent.
type Source struct {
	Rate arrivals.Rate
	// Even means that requests come at even distances, and not by chance (a Poisson process).
	Even bool
	// For is how long requests are sent; 0: without an end.
	For time.Duration
}

// Client is how requests are sent. The clients are many and independent of each other: no request waits for another one.
type Client struct {
	// Timeout is how long a client waits for the answer to one attempt; 0: forever. The server does not notice that it gave up.
	Timeout time.Duration
	// Retries is how many further attempts follow one that failed, Backoff after it, and twice as long after each.
	Retries int
	Backoff time.Duration
	// Budget, if it is above 0, limits retries to that share of the requests: each request adds so much to an account of 10 at most, and
	// each retry takes 1.
	Budget float64
	// Connections is how many idle connections are kept for further requests; 0: each request makes its own. A kept connection leads to
	// the server that it was made to, the one that was used last first.
	Connections int
	// RoundTrip is how long the network takes for a request and its answer.
	RoundTrip time.Duration
}

// Wait returns how long a client waits before it repeats an attempt, counted from 0.
func (c *Client) Wait(attempt int) time.Duration {
	const maxDoublings = 10
	return c.Backoff << min(attempt, maxDoublings)
}

// BudgetMost is the largest balance of a retry budget.
const BudgetMost = 10

// Account is the account of a retry budget.
type Account struct{ spent float64 }

// Deposit adds the share of one request.
func (a *Account) Deposit(c *Client) { a.spent = max(0, a.spent-c.Budget) }

// Take takes what a retry costs; false: it may not be made.
func (a *Account) Take(c *Client) bool {
	if c.Budget <= 0 {
		return true
	}
	if a.spent+1 > BudgetMost {
		return false
	}
	a.spent++
	return true
}

// Target is where some of a route's new connections lead: to a server, or to a failure.
type Target struct {
	// Weight is the share of the connections, relative to the other targets. It must be above 0.
	Weight float64
	// Station is the server's number. It is not used if there is a Cause.
	Station int
	// Cause says that the connection fails, After some time.
	Cause Cause
	After time.Duration
	// Where says in words where it fails, such as the name of a pod.
	Where string
}

// Cause is why a request failed.
type Cause string

// The causes.
const (
	// NoEndpoint: the Service had no endpoint, so that the rules of the client's node refused the connection.
	NoEndpoint Cause = "no endpoint"
	// Refused: nothing listened at the address that the connection was sent to, or nothing had it.
	Refused Cause = "refused"
	// Reset: the server ended while it had the request.
	Reset Cause = "reset"
	// Denied: a policy dropped the packets.
	Denied Cause = "dropped by a policy"
	// Lost: the packets were lost, because of a fault or of a node that is down, cut off or not in use.
	Lost Cause = "packets lost"
	// TimedOut: the client waited for the answer longer than its time-out.
	TimedOut Cause = "timed out"
	// QueueFull: the server had as many requests as it takes.
	QueueFull Cause = "queue full"
	// ServerError: the program answered with an error (5xx).
	ServerError Cause = "server error"
	// NoRoute: no machine had the address that the connection was sent to, such as a pod's that is gone.
	NoRoute Cause = "no route to host"
	// Unreachable: there was no way to the destination.
	Unreachable Cause = "unreachable"
	// RouterError: the router of an Ingress or Gateway answered itself with an error.
	RouterError Cause = "error of the router"
	// Unresolved: the name of the destination was not resolved.
	Unresolved Cause = "name not resolved"
	// NoSource: there is no client, such as no pod of the workload that sends, or none that runs. Its requests are not sent.
	NoSource Cause = "no source"
)
