package reach

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/routes"
)

// Way is where a share of the connections of a question go, if chance decides among the sources and the endpoints.
type Way struct {
	// Share is the part of the connections, from 0 to 1. All ways of a question have the sum 1.
	Share float64
	// Silent says why the source of the share sends nothing at present, such as a node that is down; Path is nil then.
	Silent string
	Path   *Path
	// Router is the answer of a router that the path leads to, with the way to a server; nil if it leads to none.
	Router *Forwarded
}

// The limits of a question about ways.
const (
	// MaxSources is the largest number of pods whose connections are asked about at once.
	MaxSources = 100
	// routerSamples is how many requests at a router stand for all: it spreads them evenly over backends and endpoints.
	routerSamples = 128
)

// Ways answers where all connections of a question go: from each pod of a workload, or of a namespace (ns/NAME), to each endpoint that the
// rules of the source's node may choose. A source that does not run, or whose node is down, keeps its share without a path, unless it is
// being deleted. A destination that does not exist is a way to a failure. Faults have the effects that are certain. complete fills in what a query needs of the cluster.
func (c *Cluster) Ways(a *Ask, complete func(*Query)) ([]Way, error) {
	sources, err := c.sources(a)
	if err != nil {
		return nil, err
	}
	silent := make([]string, len(sources))
	for i, from := range sources {
		q := &Query{From: from, Protocol: corev1.ProtocolTCP}
		complete(q)
		silent[i] = silence(q)
	}
	const left = "it is being deleted"
	n := 0.0
	for i, from := range sources {
		if silent[i] != "" && from.Pod != nil && from.Pod.DeletionTimestamp != nil {
			silent[i] = left
			continue
		}
		n++
	}
	if n == 0 {
		return []Way{{Share: 1, Silent: left}}, nil
	}
	var all []Way
	for i, from := range sources {
		switch silent[i] {
		case "":
		case left:
			continue
		default:
			all = append(all, Way{Share: 1 / n, Silent: silent[i]})
			continue
		}
		ways, err := c.waysFrom(from, a, complete)
		if err != nil {
			return nil, err
		}
		for _, w := range ways {
			w.Share /= n
			all = append(all, w)
		}
	}
	return all, nil
}

// silence returns why the source of a query sends nothing; empty: it sends.
func silence(q *Query) string {
	if node := nodeOf(&q.From); q.Cut != nil && node != "" {
		if why := q.Cut(node, node); why != "" {
			return why
		}
	}
	pod := q.From.Pod
	if pod == nil {
		return ""
	}
	runs := func(s corev1.ContainerStatus) bool { return s.State.Running != nil }
	if all := pod.Status.ContainerStatuses; pod.Status.Phase == corev1.PodPending || len(all) > 0 && !slices.ContainsFunc(all, runs) {
		return podName(pod) + " does not run"
	}
	return ""
}

// sources returns the ends at which the connections of a question begin.
func (c *Cluster) sources(a *Ask) ([]policy.Peer, error) {
	// A pod of a workload that has not begun has no share yet.
	sends := func(pod *corev1.Pod) bool { return len(PodAddresses(pod)) > 0 && pod.Status.Phase != corev1.PodPending }
	kind, name, _ := strings.Cut(a.From, "/")
	of, namespace := ends.Workload(kind), cmp.Or(a.Namespace, metav1.NamespaceDefault)
	var pods []*corev1.Pod
	switch {
	case kind == SourceNamespace:
		pods = c.Pods(name, sends)
	case of != "":
		pods = c.Pods(namespace, func(pod *corev1.Pod) bool { return ends.Belongs(pod, of, name) && sends(pod) })
	default:
		from, _, err := c.end(namespace, a.From)
		return []policy.Peer{from}, err
	}
	if len(pods) == 0 {
		return nil, &NotFoundError{What: fmt.Sprintf("a pod of %s", a.From)}
	}
	var list []policy.Peer
	for _, pod := range pods[:min(len(pods), MaxSources)] {
		list = append(list, policy.Peer{Pod: pod})
	}
	return list, nil
}

// SourceNamespace is the kind of a source that stands for all pods of a namespace.
const SourceNamespace = "ns"

// waysFrom is Ways for one source.
func (c *Cluster) waysFrom(from policy.Peer, a *Ask, complete func(*Query)) ([]Way, error) {
	own, q := *a, &Query{From: from, Protocol: corev1.ProtocolTCP}
	request, err := own.request()
	if err != nil {
		return nil, err
	}
	to, err := c.target(q, cmp.Or(a.ToNamespace, a.Namespace, metav1.NamespaceDefault), &own)
	var missing *NotFoundError
	switch {
	case errors.As(err, &missing): // it may be made later
		return []Way{{Share: 1, Path: (&Path{Protocol: q.Protocol}).end(NoSuchHost, missing.Error())}}, nil
	case err != nil:
		return nil, err
	}
	complete(q)
	q.Asked = true
	if to.nowhere != "" {
		return []Way{{Share: 1, Path: (&Path{Protocol: q.Protocol}).end(Unreachable, to.nowhere)}}, nil
	}
	decide := func(random uint64) *Path {
		q.Random = random
		if own.From == ends.Outside {
			return c.DecideOutside(q)
		}
		return c.Decide(q)
	}
	first := decide(0)
	if first.Router != nil && first.Outcome == Connected && request != nil {
		return c.waysOfRouter(q, first, decide, request), nil
	}
	nodes := 1
	if first.Frontend != nil && nodeOf(&q.From) == "" {
		nodes = max(1, len(c.entries(first.Frontend)))
	}
	var all []Way
	for node := range uint64(nodes) {
		high := node << 32
		path := decide(high)
		n := uint64(1)
		if path.Choice != nil && path.Endpoint != nil {
			n = uint64(len(path.Choice.Candidates))
		}
		for i := range n {
			all = append(all, Way{Share: 1 / float64(nodes) / float64(n), Path: decide(high + (i+n-high%n)%n)})
		}
	}
	return all, nil
}

// waysOfRouter is waysFrom for requests at a router.
func (c *Cluster) waysOfRouter(q *Query, path *Path, decide func(uint64) *Path, r *routes.Request) []Way {
	r.Port = path.Frontend.Port.Port
	var all []Way
	for i := range uint64(routerSamples) {
		path = decide((i + 1) * stride)
		inner := *q
		inner.From = path.Source
		all = append(all, Way{Share: 1.0 / routerSamples, Path: path, Router: c.Forward(&inner, path, i+1, r, 0)})
	}
	return all
}
