package kwok

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"minikcm.dev/minikcm/internal/kwokcel"
)

// Metric is a valid Metric: the metrics at one path of nodes.
type Metric struct {
	Name, Path string
	metrics    []compiledMetric
}

type compiledMetric struct {
	name, help, kind string
	scope            kwokcel.Scope
	labels           []compiledLabel
	value            *kwokcel.Expression
	// buckets are sorted by their bounds.
	buckets []compiledBucket
}

type compiledLabel struct {
	name  string
	value *kwokcel.Expression
}

type compiledBucket struct {
	bound  float64
	count  *kwokcel.Expression
	hidden bool
}

// The kinds of metrics.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// The path of a Metric begins with pathRoot, and nodeVariable stands for the name of a node. Without
// the variable, the Metric applies to the node that has the Metric's name.
const (
	pathRoot     = "/metrics"
	nodeVariable = "{nodeName}"
	maxPath      = 1024
)

// What names of metrics, names of labels and segments of paths consist of.
var (
	metricName  = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName   = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	pathSegment = regexp.MustCompile(`^[a-zA-Z0-9._~:@-]+$`)
)

// Metric parses and checks a Metric in JSON or YAML.
func (p *Parser) Metric(encoded []byte) (*Metric, error) {
	d, err := decode[metricSpec](p, encoded, KindMetric)
	if err != nil {
		return nil, err
	}
	m := &Metric{Name: d.Name, Path: d.Spec.Path}
	if err := checkPath(m.Path); err != nil {
		return nil, fmt.Errorf("Metric %s: spec.path: %w", m.Name, err)
	}
	for i := range d.Spec.Metrics {
		compiled, err := p.metric(&d.Spec.Metrics[i])
		if err == nil {
			err = m.agrees(&compiled)
		}
		if err != nil {
			return nil, fmt.Errorf("Metric %s: spec.metrics[%d].%w", m.Name, i, err)
		}
		m.metrics = append(m.metrics, compiled)
	}
	return m, nil
}

func checkPath(path string) error {
	rest, found := strings.CutPrefix(path, pathRoot+"/")
	switch {
	case len(path) > maxPath:
		return fmt.Errorf("it has %d bytes, more than %d", len(path), maxPath)
	case !found:
		return fmt.Errorf("%q does not begin with %s/", path, pathRoot)
	case strings.Count(path, nodeVariable) > 1:
		return fmt.Errorf("%q has %s more than once", path, nodeVariable)
	}
	for segment := range strings.SplitSeq(rest, "/") {
		if segment != nodeVariable && (!pathSegment.MatchString(segment) || segment == "." || segment == "..") {
			return fmt.Errorf("%q has the segment %q, which is neither %s nor letters, digits and ._~:@-", path, segment, nodeVariable)
		}
	}
	return nil
}

// agrees fails if a metric of the same name has another kind, help or labels.
func (m *Metric) agrees(with *compiledMetric) error {
	for i := range m.metrics {
		other := &m.metrics[i]
		if other.name != with.name {
			continue
		}
		same := slices.EqualFunc(other.labels, with.labels, func(a, b compiledLabel) bool { return a.name == b.name })
		if other.kind != with.kind || other.help != with.help || !same {
			return fmt.Errorf("name: spec.metrics[%d] is %s, too, with another kind, help or labels", i, with.name)
		}
	}
	return nil
}

func (p *Parser) metric(c *metricConfig) (compiledMetric, error) {
	m := compiledMetric{name: c.Name, help: strings.TrimSuffix(c.Help, "\n"), kind: c.Kind}
	if !metricName.MatchString(c.Name) {
		return m, fmt.Errorf("name %q is no name of a metric", c.Name)
	}
	switch c.Dimension {
	case "", "node":
		m.scope = kwokcel.OfNode
	case "pod":
		m.scope = kwokcel.OfPod
	case "container":
		m.scope = kwokcel.OfContainer
	default:
		return m, fmt.Errorf("dimension %q is none of node, pod, container", c.Dimension)
	}
	var err error
	if m.labels, err = p.labels(c, m.scope); err != nil {
		return m, err
	}
	switch c.Kind {
	case counter, gauge:
		if len(c.Buckets) > 0 {
			return m, fmt.Errorf("buckets: a %s has none", c.Kind)
		}
		if m.value, err = p.number(c.Value, m.scope); err != nil {
			return m, fmt.Errorf("value: %w", err)
		}
	case histogram:
		if c.Value != "" {
			return m, errors.New("value: a histogram has buckets instead")
		}
		m.buckets, err = p.buckets(c, m.scope)
	default:
		return m, fmt.Errorf("kind %q is none of %s, %s, %s", c.Kind, counter, gauge, histogram)
	}
	return m, err
}

func (p *Parser) labels(c *metricConfig, in kwokcel.Scope) ([]compiledLabel, error) {
	var all []compiledLabel
	for i, l := range c.Labels {
		switch {
		case !labelName.MatchString(l.Name) || strings.HasPrefix(l.Name, "__") || c.Kind == histogram && l.Name == "le":
			return nil, fmt.Errorf("labels[%d].name %q is no name of a label", i, l.Name)
		case slices.ContainsFunc(all, func(other compiledLabel) bool { return other.name == l.Name }):
			return nil, fmt.Errorf("labels[%d].name %q is there twice", i, l.Name)
		}
		value, err := p.text(l.Value, in)
		if err != nil {
			return nil, fmt.Errorf("labels[%d].value: %w", i, err)
		}
		all = append(all, compiledLabel{l.Name, value})
	}
	slices.SortFunc(all, func(a, b compiledLabel) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

func (p *Parser) buckets(c *metricConfig, in kwokcel.Scope) ([]compiledBucket, error) {
	var all []compiledBucket
	for i, b := range c.Buckets {
		if b.Le < 0 || math.IsNaN(b.Le) || slices.ContainsFunc(all, func(other compiledBucket) bool { return other.bound == b.Le }) {
			return nil, fmt.Errorf("buckets[%d].le %v is negative or there twice", i, b.Le)
		}
		count, err := p.number(b.Value, in)
		if err != nil {
			return nil, fmt.Errorf("buckets[%d].value: %w", i, err)
		}
		all = append(all, compiledBucket{b.Le, count, b.Hidden})
	}
	if len(all) == 0 {
		return nil, errors.New("buckets: a histogram needs some")
	}
	slices.SortFunc(all, func(a, b compiledBucket) int { return cmp.Compare(a.bound, b.bound) })
	return all, nil
}

// Metrics are the Metrics of a cluster. They do not change. A nil *Metrics has none.
type Metrics struct {
	all []*Metric
	// Failed is called when an expression fails; it may be nil. It is set before the first use.
	Failed func(metric string, err error)
}

// Report reports that an expression of a Metric failed.
func (s *Metrics) Report(m *Metric, err error) {
	if s != nil && s.Failed != nil {
		s.Failed(m.Name, err)
	}
}

// NewMetrics returns the set of these Metrics. Of several for one path, the first in the order of
// names has effect, and the others are returned as taken.
func NewMetrics(all []*Metric) (set *Metrics, taken []*Metric) {
	set = &Metrics{}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b *Metric) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range all {
		same := func(other *Metric) bool { return other.Path == m.Path && (other.takesNode() || other.Name == m.Name) }
		if slices.ContainsFunc(set.all, same) {
			taken = append(taken, m)
		} else {
			set.all = append(set.all, m)
		}
	}
	return set, taken
}

func (m *Metric) takesNode() bool { return strings.Contains(m.Path, nodeVariable) }

// Find returns the Metric that the kubelet of a node serves at a path, and the node that it is about;
// nil if there is none.
func (s *Metrics) Find(path, kubelet string) (m *Metric, node string) {
	if s == nil {
		return nil, ""
	}
	for _, m := range s.all {
		if !m.takesNode() {
			if m.Path == path && m.Name == kubelet {
				return m, kubelet
			}
			continue
		}
		before, after, _ := strings.Cut(m.Path, nodeVariable)
		rest, begins := strings.CutPrefix(path, before)
		name, ends := strings.CutSuffix(rest, after)
		if begins && ends && name != "" && !strings.Contains(name, "/") {
			return m, name
		}
	}
	return nil, ""
}
