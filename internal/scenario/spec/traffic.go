package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/arrivals"
)

// Traffic sends requests from now on, to the end of the steps or for some time.
type Traffic struct {
	// Name is the name of the route in reports; default: FROM to TO.
	Name string `yaml:"name"`
	// From is the source: a pod (NAME or pod/NAME), the pods of a workload (deploy/NAME, sts/NAME, ds/NAME, rs/NAME, job/NAME), those of a
	// namespace (ns/NAME), node/NAME, outside, or an IP address.
	From string `yaml:"from"`
	// To is a name as the program uses it, an IP address, svc/NAME, one of the forms of From, or the URL of a request at an Ingress or Gateway.
	To string `yaml:"to"`
	// Port is the number or the name of the port; default: that in To, or the first one of the Service or the pod, or 80.
	Port string `yaml:"port"`
	// Namespace is the namespace of From, and of To unless ToNamespace is set; default default.
	Namespace string `yaml:"namespace"`
	// ToNamespace is the namespace of To, if it is an object.
	ToNamespace string `yaml:"toNamespace"`
	// Rate is how many requests are sent a second: a number, or a curve: "ramp FROM TO TIME", "steps RATE TIME RATE ...", "sine LOW HIGH
	// PERIOD" or "cycle RATE TIME ...".
	Rate string `yaml:"rate"`
	// RateFile is a file with the rate, in place of Rate: CSV of TIME,RATE, or the answer of Prometheus to a range query.
	RateFile string `yaml:"rateFile"`
	// Even sends the requests at even distances; default: by chance, as many independent clients do.
	Even bool `yaml:"even"`
	// For is how long requests are sent; default: to the end of the steps.
	For Duration `yaml:"for"`
	// Mode is exact (each request is simulated; the default) or flow (counts a second are computed, whose cost does not depend on the rate).
	// The modes do not see each other's load.
	Mode string `yaml:"mode"`
	// Client says how the requests are sent.
	Client TrafficClient `yaml:"client"`
	// SLO are the objectives, which fail the scenario at the end of the steps unless they are met.
	SLO TrafficObjectives `yaml:"slo"`

	rate   arrivals.Rate
	budget float64
	wanted []Objective
}

// TrafficClient says how requests are sent.
type TrafficClient struct {
	// Timeout is how long a client waits for the answer to an attempt; default 10s.
	Timeout Duration `yaml:"timeout"`
	// Retries is how many attempts follow one that failed; default 0.
	Retries int `yaml:"retries"`
	// Backoff is the time before the first retry, which doubles for each further one; default 100ms.
	Backoff Duration `yaml:"backoff"`
	// Budget limits retries to a share of the requests, such as 20%; default: no limit.
	Budget string `yaml:"budget"`
	// Connections is how many idle connections are kept for further requests; default 0: each request makes its own.
	Connections int `yaml:"connections"`
}

// TrafficObjectives are the objectives of a route.
type TrafficObjectives struct {
	// Availability is the share of the requests that must succeed, such as 99.9%.
	Availability string `yaml:"availability"`
	// P50, P95 and P99 are limits of quantiles of the time until the answer, of the requests that succeed.
	P50 Duration `yaml:"p50"`
	P95 Duration `yaml:"p95"`
	P99 Duration `yaml:"p99"`
}

// The modes of traffic.
const (
	TrafficExact = "exact"
	TrafficFlow  = "flow"
)

// Limits of clients.
const (
	maxRetries     = 20
	maxConnections = 100_000
)

// Check reports what is wrong with the fields, and fills in defaults.
func (t *Traffic) Check(c *Checker) {
	if kind, name, _ := strings.Cut(t.From, "/"); t.From == "" {
		c.Problem("from", "is missing: say where the requests come from, such as deploy/web or outside")
	} else if kind != reach.SourceNamespace || name == "" {
		c.Check("from", reach.CheckEnd(t.From))
	}
	if t.To == "" {
		c.Problem("to", "is missing: say where the requests go, such as svc/db")
	} else {
		c.Check("to", (&reach.Ask{To: t.To}).CheckTarget())
	}
	if strings.HasPrefix(c.field, "spec.finally") {
		c.Problem("", "has no place in finally: traffic ends before, with the steps")
	}
	_, err := reach.ParsePort(t.Port)
	c.Check("port", err)
	t.checkRate(c)
	t.Name, t.Mode = cmp.Or(t.Name, t.From+" to "+t.To), cmp.Or(t.Mode, TrafficExact)
	if !slices.Contains([]string{TrafficExact, TrafficFlow}, t.Mode) {
		c.Problem("mode", "%q is none of exact and flow", t.Mode)
	}
	t.Client.check(c, &t.budget)
	t.wanted = t.SLO.check(c)
}

// checkRate reads the rate.
func (t *Traffic) checkRate(c *Checker) {
	var err error
	switch {
	case t.Rate == "" && t.RateFile == "":
		c.Problem("rate", "is missing: say how many requests are sent a second, such as 100")
	case t.Rate != "" && t.RateFile != "":
		c.Problem("rateFile", "has no place beside rate")
	case t.RateFile != "":
		if data := c.Content("rateFile", t.RateFile); data != nil {
			t.rate, err = arrivals.Read(data)
			c.Check("rateFile", err)
		}
	default:
		t.rate, err = arrivals.Parse(t.Rate)
		c.Check("rate", err)
	}
}

func (t *TrafficClient) check(c *Checker, budget *float64) {
	t.Timeout, t.Backoff = cmp.Or(t.Timeout, Duration(10*time.Second)), cmp.Or(t.Backoff, Duration(100*time.Millisecond))
	if t.Retries < 0 || t.Retries > maxRetries {
		c.Problem("client.retries", "must be from 0 to %d", maxRetries)
	}
	if t.Connections < 0 || t.Connections > maxConnections {
		c.Problem("client.connections", "must be from 0 to %d", maxConnections)
	}
	if t.Budget != "" {
		share, err := traffic.ParseShare(t.Budget)
		*budget = share
		c.Check("client.budget", err)
	}
}

// roundTrip is how long the network takes for a request and its answer, as for programs in containers.
const roundTrip = time.Millisecond

// Sent returns when the requests are sent.
func (t *Traffic) Sent() traffic.Source {
	return traffic.Source{Rate: t.rate, Even: t.Even, For: time.Duration(t.For)}
}

// SentBy returns how the requests are sent.
func (t *Traffic) SentBy() traffic.Client {
	return traffic.Client{
		Timeout: time.Duration(t.Client.Timeout), Retries: t.Client.Retries, Backoff: time.Duration(t.Client.Backoff), Budget: t.budget,
		Connections: t.Client.Connections, RoundTrip: roundTrip,
	}
}

// Ask returns the question where the requests go. namespace converts a namespace of the file.
func (t *Traffic) Ask(namespace func(string) string) *reach.Ask {
	from := t.From
	if kind, name, _ := strings.Cut(from, "/"); kind == reach.SourceNamespace {
		from = kind + "/" + namespace(name)
	}
	return &reach.Ask{Namespace: namespace(t.Namespace), ToNamespace: namespace(cmp.Or(t.ToNamespace, t.Namespace)), From: from, To: t.To, Port: t.Port}
}

// Objectives returns the objectives of the route.
func (t *Traffic) Objectives() []Objective { return t.wanted }

// Title says what the step does.
func (t *Traffic) Title() string {
	rate := t.Rate
	switch _, err := strconv.ParseFloat(rate, 64); {
	case t.RateFile != "":
		rate = "requests as in " + t.RateFile
	case err == nil:
		rate += " requests a second"
	default:
		rate = "requests (" + rate + ")"
	}
	return fmt.Sprintf("send %s from %s to %s", rate, t.From, t.To)
}

// Objective is an objective of a route: an availability, or a limit of a quantile.
type Objective struct {
	// Text is the objective in words.
	Text string
	// Availability is the wanted share of requests that succeed, if there is no Limit.
	Availability float64
	// Quantile, from 0 to 1, of the times until the answer must not be above Limit.
	Quantile float64
	Limit    time.Duration
}

// check reads the objectives.
func (o *TrafficObjectives) check(c *Checker) []Objective {
	var all []Objective
	if o.Availability != "" {
		share, err := traffic.ParseShare(o.Availability)
		c.Check("slo.availability", err)
		all = append(all, Objective{Text: "availability " + o.Availability, Availability: share})
	}
	for _, q := range []Objective{{Quantile: 0.5, Limit: time.Duration(o.P50)}, {Quantile: 0.95, Limit: time.Duration(o.P95)}, {Quantile: 0.99, Limit: time.Duration(o.P99)}} {
		if q.Limit > 0 {
			q.Text = fmt.Sprintf("p%.0f %v", q.Quantile*100, q.Limit)
			all = append(all, q)
		}
	}
	return all
}
