package kwokwatch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/network/policy"
)

// Name is the name of a Reader as an API client, in events and in the order of turns.
const Name = "kwok-usage"

// Target applies usages and Metrics. Its functions do not block.
type Target interface {
	// SetUsages passes on the usages that have effect from now on; nil: there are none.
	SetUsages(*kwok.Usages)
	SetMetrics(*kwok.Metrics)
	// SetClusterPolicies passes on the ClusterNetworkPolicies that have effect from now on.
	SetClusterPolicies([]*policy.ClusterPolicy)
	// Started returns how many containers a node has started.
	Started(node string) int64
}

// Reader reads ResourceUsages, ClusterResourceUsages and Metrics of kwok, and ClusterNetworkPolicies. Run it once.
type Reader struct {
	sources *Sources
	target  Target
	seed    uint64

	parser                 *kwok.Parser
	pods, cluster          *Parsed[*kwok.Usage]
	metrics                *Parsed[*kwok.Metric]
	policies               *Parsed[*policy.ClusterPolicy]
	podUsages, clusterWide []*kwok.Usage
}

// NewReader returns a reader. It makes no request before Run. opts.Client and opts.Name are set by it.
// seed determines the random numbers of expressions.
func NewReader(config *rest.Config, opts Options, target Target, seed uint64) (*Reader, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "minikcm/" + Name
	config.Wrap(cause.Wrap)
	// The ledger counts the events that the informers receive.
	informers.Wrap(config)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of %s: %w", Name, err)
	}
	opts.Name, opts.Client = Name, client
	r := &Reader{target: target, seed: seed, parser: kwok.NewParser()}
	r.pods = NewParsed(kwok.KindResourceUsage, decoded(r.parser.Usage))
	r.cluster = NewParsed(kwok.KindClusterResourceUsage, decoded(r.parser.Usage))
	r.metrics = NewParsed(kwok.KindMetric, decoded(r.parser.Metric))
	r.policies = NewParsed(policy.ClusterKind, policy.ParseCluster)
	r.sources = New(
		opts,
		Kind{Name: kwok.KindResourceUsage, Resource: kwok.ResourceUsages, Read: func(objects []*unstructured.Unstructured) (loop.Result, error) {
			r.podUsages = r.pods.Of(objects, r.sources.Report)
			return r.setUsages()
		}},
		Kind{Name: kwok.KindClusterResourceUsage, Resource: kwok.ClusterResourceUsages, Read: func(objects []*unstructured.Unstructured) (loop.Result, error) {
			r.clusterWide = r.cluster.Of(objects, r.sources.Report)
			return r.setUsages()
		}},
		Kind{Name: kwok.KindMetric, Resource: kwok.MetricResources, Read: r.readMetrics},
		Kind{
			Name: policy.ClusterKind, Group: policy.ClusterGroup, Versions: policy.ClusterVersions(), Resource: policy.ClusterResource,
			Read: func(objects []*unstructured.Unstructured) (loop.Result, error) {
				target.SetClusterPolicies(r.policies.Of(objects, r.sources.Report))
				return loop.Result{}, nil
			},
		},
	)
	return r, nil
}

// decoded returns a parser of objects that the API has decoded.
func decoded[T any](parse func(encoded []byte) (T, error)) func(object map[string]any) (T, error) {
	return func(object map[string]any) (none T, err error) {
		encoded, err := json.Marshal(object)
		if err != nil {
			return none, fmt.Errorf("encoding the object: %w", err)
		}
		return parse(encoded)
	}
}

// Run reads until ctx ends. It returns after everything that it started has ended.
func (r *Reader) Run(ctx context.Context) error {
	err := r.sources.Run(ctx)
	r.sources.Wait()
	return err
}

func (r *Reader) setUsages() (loop.Result, error) {
	r.target.SetUsages(kwok.NewUsages(slices.Concat(r.podUsages, r.clusterWide), kwok.UsageOptions{
		Seed: r.seed, Started: r.target.Started, Failed: func(of kwok.Ref, err error) {
			name := of.Name
			if of.Namespace != "" {
				name = of.Namespace + "/" + name
			}
			r.sources.Report(of.Kind, name, err)
		},
	}))
	return loop.Result{}, nil
}

func (r *Reader) readMetrics(objects []*unstructured.Unstructured) (loop.Result, error) {
	set, taken := kwok.NewMetrics(r.metrics.Of(objects, r.sources.Report))
	for _, m := range taken {
		r.sources.Report(kwok.KindMetric, m.Name, fmt.Errorf("another Metric has the path %s", m.Path))
	}
	set.Failed = func(metric string, err error) { r.sources.Report(kwok.KindMetric, metric, err) }
	r.target.SetMetrics(set)
	return loop.Result{}, nil
}
