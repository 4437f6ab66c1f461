package capacity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/scenario/sending"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/internal/traffic"
)

// The delays of a cluster in which requests are sent: with none, all parts would know a change at the same instant, and only requests that
// a server already had would fail.
const (
	// TrafficStartDelay and TrafficReadyDelay are the times that pods take to start and to get ready, unless they are given.
	TrafficStartDelay = 2 * time.Second
	TrafficReadyDelay = 5 * time.Second
	// endpointsDelay is how long the controller of endpoints takes, and rulesDelay is the least time between two syncs of a node's rules:
	// kube-proxy's default.
	endpointsDelay = 500 * time.Millisecond
	rulesDelay     = time.Second
)

// Limits of traffic.
const (
	maxTrafficBytes = 1 << 20
	maxRoutes       = 1000
	// maxSent is how long requests are sent, unless a route says how long.
	maxSent = time.Hour
	// maxExact is the largest number of requests of a route that are simulated one by one, unless its mode is given.
	maxExact = 20_000_000
)

// anyClient is the source of requests of routes without one: an address outside of the cluster (RFC 5737), whose connections come to the
// nodes with endpoints, as through a load balancer, also to cluster IPs.
const anyClient = "203.0.113.1"

// Traffic is the requests that are sent while the effects of changes are found out.
type Traffic struct{ routes []*spec.Traffic }

// trafficFile is the document of a file.
type trafficFile struct {
	Traffic []spec.Traffic `yaml:"traffic"`
}

// ReadTraffic reads a file of traffic. The error is an InputError.
func ReadTraffic(path string) (*Traffic, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, input("reading the traffic: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxTrafficBytes+1))
	if err != nil {
		return nil, input("reading the traffic: %w", err)
	}
	return parseTraffic(path, data)
}

// parseTraffic reads the traffic of data, which the errors call file.
func parseTraffic(file string, data []byte) (*Traffic, error) {
	if len(data) > maxTrafficBytes {
		return nil, input("%s has more than %d bytes", file, maxTrafficBytes)
	}
	all := &Traffic{}
	_, err := spec.Values(file, data, "there is no traffic in it: begin with traffic:", func(c *spec.Checker, doc *trafficFile) {
		if n := len(doc.Traffic); n == 0 || n+len(all.routes) > maxRoutes {
			c.Problem("traffic", "has %d routes, but must have from 1 to %d", n, maxRoutes)
			return
		}
		for i := range doc.Traffic {
			t := &doc.Traffic[i]
			checkRoute(c.In(fmt.Sprintf("traffic[%d]", i)), t)
			all.routes = append(all.routes, t)
		}
	})
	if err != nil {
		return nil, InputError{err}
	}
	return all, nil
}

// checkRoute checks a route, and fills in defaults.
func checkRoute(c *spec.Checker, t *spec.Traffic) {
	if t.From == "" {
		t.From = anyClient
		t.Name = cmp.Or(t.Name, routeName(t))
	}
	chosen := t.Mode != ""
	t.Check(c)
	t.For = cmp.Or(t.For, spec.Duration(maxSent))
	if !chosen && c.Sound() && t.Sent().Rate.Count(time.Duration(t.For)) > maxExact {
		t.Mode = spec.TrafficFlow
	}
}

// routeName is the name of a route without a source.
func routeName(t *spec.Traffic) string {
	if namespace := cmp.Or(t.ToNamespace, t.Namespace); namespace != "" && strings.HasPrefix(t.To, "svc/") {
		return t.To + " in " + namespace
	}
	return t.To
}

// delays sets the delays of the parts that make clients know changes late.
func (o *Options) delays() {
	if o.Traffic != nil && o.Latencies.ServiceSync == 0 {
		o.Latencies.ServiceSync = rulesDelay
	}
}

// slowEndpoints makes endpoints follow late.
func (f *Fork) slowEndpoints() error {
	if f.opts.Traffic == nil {
		return nil
	}
	if _, err := f.cluster.Manager().Slow(controllers.EndpointSlice, endpointsDelay); err != nil {
		return fmt.Errorf("slowing down the endpoints: %w", err)
	}
	return nil
}

// checkTraffic returns an InputError if a route leads nowhere before the changes, such as to a Service that does not exist.
func (f *Fork) checkTraffic(ctx context.Context) error {
	if f.opts.Traffic == nil {
		return nil
	}
	for _, t := range f.opts.Traffic.routes {
		ways, err := f.cluster.Kubelets().TrafficWays(ctx, t.Ask(namespaceOrDefault))
		if wrong := (*reach.InvalidError)(nil); errors.As(err, &wrong) {
			return input("the route %s: %w", t.Name, err)
		}
		if err != nil {
			return fmt.Errorf("asking where the route %s leads: %w", t.Name, err)
		}
		if why := nowhere(ways); why != "" {
			if t.From == anyClient && strings.HasPrefix(why, string(traffic.Unreachable)) {
				why += "; with from, such as deploy/NAME, the requests come from pods"
			}
			return input("the route %s leads nowhere: %s", t.Name, why)
		}
	}
	return nil
}

// nowhere says why no request has a source or a destination; empty: some have.
func nowhere(ways []traffic.Way) string {
	why := ""
	for _, w := range ways {
		switch w.Cause {
		case traffic.NoSource, traffic.Unresolved, traffic.Unreachable:
			why = strings.TrimSuffix(string(w.Cause)+": "+w.Where, ": ")
		default:
			return ""
		}
	}
	return why
}

func namespaceOrDefault(name string) string { return cmp.Or(name, metav1.NamespaceDefault) }

// send begins to send the requests. failed is called if they cannot be followed any more. end returns what became of them.
func (f *Fork) send(ctx context.Context, failed func(error)) (end func() []runrecord.Traffic, err error) {
	var s sending.Sending
	if f.opts.Traffic == nil {
		return s.End, nil
	}
	begun := f.cluster.Clock().Now()
	for _, t := range f.opts.Traffic.routes {
		if err := s.Begin(ctx, f.cluster, begun, t, namespaceOrDefault, failed); err != nil {
			s.End()
			return nil, fmt.Errorf("sending requests: %w", err)
		}
	}
	return s.End, nil
}

// missed are the objectives of routes that were not met.
func (r *Report) missed() []string {
	var all []string
	for i := range r.Traffic {
		for _, o := range r.Traffic[i].Objectives {
			if !o.Met {
				all = append(all, fmt.Sprintf("%s misses %s: %s", r.Traffic[i].Name, o.Text, o.Got))
			}
		}
	}
	return all
}

// failing says how many requests fail, also with the remedies; empty: there is no traffic.
func (r *Report) failing() string {
	if len(r.Traffic) == 0 {
		return ""
	}
	requests, failed := total(r)
	if r.remedied != nil && slices.ContainsFunc(r.Remedies, func(m Remedy) bool { return m.Change != "" }) {
		_, then := total(r.remedied)
		return fmt.Sprintf("%d of %d requests fail; with the remedies below, %d do.\n", failed, requests, then)
	}
	return fmt.Sprintf("%d of %d requests fail.\n", failed, requests)
}

// total returns the requests of all routes, and how many of them failed.
func total(r *Report) (requests, failed int64) {
	for i := range r.Traffic {
		requests, failed = requests+r.Traffic[i].Requests, failed+r.Traffic[i].Failed
	}
	return requests, failed
}

// printTraffic writes what became of the requests.
func (r *Report) printTraffic(b *strings.Builder) {
	if len(r.Traffic) == 0 {
		return
	}
	b.WriteString("\nTRAFFIC (times since the changes)\n")
	for i := range r.Traffic {
		for _, line := range report.TrafficLines(&r.Traffic[i]) {
			b.WriteString(line + "\n")
		}
	}
}
