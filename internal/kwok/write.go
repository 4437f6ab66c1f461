package kwok

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/kwokcel"
	"minikcm.dev/minikcm/internal/usage"
)

// maxAnswer caps the cost of all expressions of one answer, as CEL counts it.
const maxAnswer = 5_000_000

// View is the input of a Metric: a node with its pods, at a time.
type View struct {
	Node *corev1.Node
	// Pods are sorted by namespace and name.
	Pods []*corev1.Pod
	Now  time.Time
	// Seed, Started and Usage are passed on in kwokcel.Input.
	Seed    uint64
	Started func(node string) int64
	Usage   func(of kwokcel.Subject, resource string, cumulative bool) float64
}

// Write writes the metrics in Prometheus' text format, sorted by their names. A series whose
// expressions fail is left out, and the first failure is returned as failed. err is w's error.
func (m *Metric) Write(w io.Writer, v *View) (failed, err error) {
	families := map[string]*family{}
	budget := uint64(maxAnswer)
	var names []string
	for i := range m.metrics {
		metric := &m.metrics[i]
		f := families[metric.name]
		if f == nil {
			f = &family{byLabels: map[string]*dto.Metric{}}
			families[metric.name] = f
			names = append(names, metric.name)
			f.out = &dto.MetricFamily{Name: &metric.name, Help: &metric.help, Type: typeOf(metric.kind).Enum()}
		}
		for n, in := range v.inputs(metric.scope) {
			in.Budget = &budget
			in.Random = v.random(m.Name, i, n)
			if err := f.add(metric, in); err != nil && failed == nil {
				failed = fmt.Errorf("the metric %s: %w", metric.name, err)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if f := families[name]; len(f.out.Metric) > 0 {
			if _, err := expfmt.MetricFamilyToText(w, f.out); err != nil {
				return failed, fmt.Errorf("writing the metric %s: %w", name, err)
			}
		}
	}
	return failed, nil
}

func typeOf(kind string) dto.MetricType {
	switch kind {
	case counter:
		return dto.MetricType_COUNTER
	case histogram:
		return dto.MetricType_HISTOGRAM
	}
	return dto.MetricType_GAUGE
}

// inputs returns the inputs for which a metric of the scope is evaluated.
func (v *View) inputs(scope kwokcel.Scope) []*kwokcel.Input {
	input := func(pod *corev1.Pod, c *corev1.Container) *kwokcel.Input {
		return &kwokcel.Input{Node: v.Node, Pod: pod, Container: c, Now: v.Now, Started: v.Started, Usage: v.Usage}
	}
	if scope == kwokcel.OfNode {
		return []*kwokcel.Input{input(nil, nil)}
	}
	var all []*kwokcel.Input
	for _, pod := range v.Pods {
		if scope == kwokcel.OfPod {
			all = append(all, input(pod, nil))
			continue
		}
		for i := range pod.Spec.Containers {
			all = append(all, input(pod, &pod.Spec.Containers[i]))
		}
	}
	return all
}

// random returns the numbers of Rand for one series.
func (v *View) random(metric string, index, series int) func() float64 {
	drawn := 0
	return func() float64 {
		drawn++
		return usage.Chance(v.Seed, v.Now, v.Node.Name, metric, strconv.Itoa(index), strconv.Itoa(series), strconv.Itoa(drawn))
	}
}

// family is the series of one name.
type family struct {
	out *dto.MetricFamily
	// byLabels are the series by their labels. The last of equal ones remains, as in kwok.
	byLabels map[string]*dto.Metric
}

// add evaluates one series.
func (f *family) add(m *compiledMetric, in *kwokcel.Input) error {
	series := &dto.Metric{}
	var key strings.Builder
	for i := range m.labels {
		value, err := m.labels[i].value.Text(in)
		if err != nil {
			return fmt.Errorf("label %s: %w", m.labels[i].name, err)
		}
		value = strings.ToValidUTF8(value, "\uFFFD")
		series.Label = append(series.Label, &dto.LabelPair{Name: &m.labels[i].name, Value: &value})
		key.WriteString(strconv.Quote(value))
	}
	if m.kind == histogram {
		var err error
		if series.Histogram, err = histogramOf(m.buckets, in); err != nil {
			return err
		}
	} else {
		value, err := m.value.Number(in)
		if err != nil {
			return err
		}
		if m.kind == counter {
			series.Counter = &dto.Counter{Value: &value}
		} else {
			series.Gauge = &dto.Gauge{Value: &value}
		}
	}
	if known := f.byLabels[key.String()]; known != nil {
		known.Counter, known.Gauge, known.Histogram = series.Counter, series.Gauge, series.Histogram
		return nil
	}
	f.byLabels[key.String()] = series
	f.out.Metric = append(f.out.Metric, series)
	return nil
}

// histogramOf adds up the buckets. What a hidden one has counts in the next one that is shown, and
// in the sum with its own bound.
func histogramOf(buckets []compiledBucket, in *kwokcel.Input) (*dto.Histogram, error) {
	h := &dto.Histogram{}
	var count uint64
	var sum float64
	for i := range buckets {
		b := &buckets[i]
		value, err := b.count.Number(in)
		if err != nil {
			return nil, fmt.Errorf("bucket %v: %w", b.bound, err)
		}
		if !(value >= 0 && value <= maxValue) {
			return nil, fmt.Errorf("bucket %v: %v is not a number between 0 and %g", b.bound, value, maxValue)
		}
		n := uint64(value)
		count += n
		sum += b.bound * float64(n)
		if !b.hidden {
			until := count
			h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &b.bound, CumulativeCount: &until})
		}
	}
	bound := math.Inf(1)
	h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: &count})
	h.SampleCount, h.SampleSum = &count, &sum
	return h, nil
}
