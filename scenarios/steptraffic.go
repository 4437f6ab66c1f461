package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	netreach "minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/scenario/spec"
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
	For spec.Duration `yaml:"for"`
	// Mode is exact (each request is simulated; the default) or flow (counts a second are computed, whose cost does not depend on the rate).
	// The modes do not see each other's load.
	Mode string `yaml:"mode"`
	// Client says how the requests are sent.
	Client TrafficClient `yaml:"client"`
	// SLO are the objectives, which fail the scenario at the end of the steps unless they are met.
	SLO TrafficObjectives `yaml:"slo"`

	rate   arrivals.Rate
	budget float64
	// wanted are the objectives.
	wanted []objective
}

// TrafficClient says how requests are sent.
type TrafficClient struct {
	// Timeout is how long a client waits for the answer to an attempt; default 10s.
	Timeout spec.Duration `yaml:"timeout"`
	// Retries is how many attempts follow one that failed; default 0.
	Retries int `yaml:"retries"`
	// Backoff is the time before the first retry, which doubles for each further one; default 100ms.
	Backoff spec.Duration `yaml:"backoff"`
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
	P50 spec.Duration `yaml:"p50"`
	P95 spec.Duration `yaml:"p95"`
	P99 spec.Duration `yaml:"p99"`
}

// The modes of traffic.
const (
	trafficExact = "exact"
	trafficFlow  = "flow"
)

// Limits of clients.
const (
	maxRetries     = 20
	maxConnections = 100_000
)

func (t *Traffic) check(c *spec.Checker) {
	if kind, name, _ := strings.Cut(t.From, "/"); t.From == "" {
		c.Problem("from", "is missing: say where the requests come from, such as deploy/web or outside")
	} else if kind != netreach.SourceNamespace || name == "" {
		c.Check("from", netreach.CheckEnd(t.From))
	}
	if t.To == "" {
		c.Problem("to", "is missing: say where the requests go, such as svc/db")
	}
	_, err := netreach.ParsePort(t.Port)
	c.Check("port", err)
	t.checkRate(c)
	t.Name, t.Mode = cmp.Or(t.Name, t.From+" to "+t.To), cmp.Or(t.Mode, trafficExact)
	if !slices.Contains([]string{trafficExact, trafficFlow}, t.Mode) {
		c.Problem("mode", "%q is none of exact and flow", t.Mode)
	}
	t.Client.check(c, &t.budget)
	t.wanted = t.SLO.check(c)
}

// checkRate reads the rate.
func (t *Traffic) checkRate(c *spec.Checker) {
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

func (t *TrafficClient) check(c *spec.Checker, budget *float64) {
	t.Timeout, t.Backoff = cmp.Or(t.Timeout, spec.Duration(10*time.Second)), cmp.Or(t.Backoff, spec.Duration(100*time.Millisecond))
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

// source and client return what the engine needs.
func (t *Traffic) source() traffic.Source {
	return traffic.Source{Rate: t.rate, Even: t.Even, For: time.Duration(t.For)}
}

func (t *Traffic) client() traffic.Client {
	return traffic.Client{
		Timeout: time.Duration(t.Client.Timeout), Retries: t.Client.Retries, Backoff: time.Duration(t.Client.Backoff), Budget: t.budget,
		Connections: t.Client.Connections, RoundTrip: roundTrip,
	}
}

// ask returns the question where the requests go. namespace converts a namespace of the file.
func (t *Traffic) ask(namespace func(string) string) *netreach.Ask {
	from := t.From
	if kind, name, _ := strings.Cut(from, "/"); kind == netreach.SourceNamespace {
		from = kind + "/" + namespace(name)
	}
	return &netreach.Ask{Namespace: namespace(t.Namespace), ToNamespace: namespace(cmp.Or(t.ToNamespace, t.Namespace)), From: from, To: t.To, Port: t.Port}
}

func (t *Traffic) title() string {
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

func (t *Traffic) possible(place Place) (field string, err error) {
	if place != OwnCluster {
		return "", errTrafficElsewhere
	}
	return "", nil
}

// errTrafficElsewhere refuses traffic in a cluster that is not the scenario's own.
var errTrafficElsewhere = errors.New("traffic is only computed in a cluster of the scenario's own")

// traffic begins to send requests.
func (b *branch) traffic(ctx context.Context, t *Traffic) error {
	if err := b.Yield(ctx); err != nil { // what the steps before have done is delivered first
		return err
	}
	return b.run.beginTraffic(ctx, t)
}
