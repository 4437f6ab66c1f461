package decide

import (
	"errors"
	"maps"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PodMetric is one pod's use of a resource, or its value of a metric, in thousandths.
type PodMetric struct {
	// Value is the average over the Window before Timestamp.
	Value     int64
	Timestamp time.Time
	Window    time.Duration
}

// census groups the pods by whether their metrics count.
type census struct {
	// metrics are the metrics of the pods that count, by pod name; ready is the number of these pods.
	metrics map[string]PodMetric
	ready   int
	// unready are pods whose metrics do not count yet, missing those without metrics.
	unready, missing []string
}

var errNoPods = errors.New("no pods returned by selector while calculating replica count")

// takeCensus groups the pods. It ignores pods that are being deleted or have failed. The
// resource matters because a pod's CPU metric does not count while it starts.
func takeCensus(pods []*corev1.Pod, metrics map[string]PodMetric, resource corev1.ResourceName, opts *Options, now time.Time) (*census, error) {
	if len(pods) == 0 {
		return nil, errNoPods
	}
	c := &census{metrics: make(map[string]PodMetric, len(metrics))}
	maps.Copy(c.metrics, metrics)
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed {
			delete(c.metrics, pod.Name)
			continue
		}
		metric, known := metrics[pod.Name]
		switch {
		case pod.Status.Phase == corev1.PodPending:
			c.setUnready(pod)
		case !known:
			c.missing = append(c.missing, pod.Name)
		case resource == corev1.ResourceCPU && starting(pod, metric, opts, now):
			c.setUnready(pod)
		default:
			c.ready++
		}
	}
	if len(c.metrics) == 0 {
		return nil, errors.New("did not receive metrics for targeted pods (pods might be unready)")
	}
	return c, nil
}

func (c *census) setUnready(pod *corev1.Pod) {
	c.unready = append(c.unready, pod.Name)
	delete(c.metrics, pod.Name)
}

// starting reports whether a pod's CPU metric measures its start instead of its work. In
// the initialization period, the metric counts only if the pod has been ready for a whole
// window; after it, the metric counts unless the pod has never been ready.
func starting(pod *corev1.Pod, metric PodMetric, opts *Options, now time.Time) bool {
	ready := readyCondition(pod)
	if ready == nil || pod.Status.StartTime == nil {
		return true
	}
	start, changed := pod.Status.StartTime.Time, ready.LastTransitionTime.Time
	if start.Add(opts.CPUInitializationPeriod).After(now) {
		return ready.Status == corev1.ConditionFalse || metric.Timestamp.Before(changed.Add(metric.Window))
	}
	return ready.Status == corev1.ConditionFalse && start.Add(opts.InitialReadinessDelay).After(changed)
}

func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// readyPods counts the pods that run and are ready.
func readyPods(pods []*corev1.Pod) (int, error) {
	if len(pods) == 0 {
		return 0, errNoPods
	}
	n := 0
	for _, pod := range pods {
		if ready := readyCondition(pod); pod.Status.Phase == corev1.PodRunning && ready != nil && ready.Status == corev1.ConditionTrue {
			n++
		}
	}
	return n, nil
}

// tolerance is the allowed deviation from 1 of the ratio of a metric to its target.
type tolerance struct{ down, up float64 }

func (t tolerance) covers(ratio float64) bool { return 1-t.down <= ratio && ratio <= 1+t.up }

// propose calculates a size from the ratio of metrics to their target. It assumes the
// values of unknown pods that lead to less change: 0 if the others require more pods, and
// the value of fill if they require fewer. If that reverses the direction, the size does
// not change.
func (c *census) propose(current int32, tol tolerance, ratio func(map[string]PodMetric) (float64, error), fill func(pod string) int64) (int32, error) {
	first, err := ratio(c.metrics)
	if err != nil {
		return 0, err
	}
	upWithUnready := len(c.unready) > 0 && first > 1
	if !upWithUnready && len(c.missing) == 0 {
		if tol.covers(first) {
			return current, nil
		}
		return ceil(first * float64(c.ready)), nil
	}
	filled := maps.Clone(c.metrics)
	for _, name := range c.missing {
		switch {
		case first < 1:
			filled[name] = PodMetric{Value: fill(name)}
		case first > 1:
			filled[name] = PodMetric{}
		}
	}
	if upWithUnready {
		for _, name := range c.unready {
			filled[name] = PodMetric{}
		}
	}
	second, err := ratio(filled)
	if err != nil {
		return 0, err
	}
	if tol.covers(second) || first < 1 && second > 1 || first > 1 && second < 1 {
		return current, nil
	}
	size := ceil(second * float64(len(filled)))
	if second < 1 && size > current || second > 1 && size < current {
		return current, nil
	}
	return size, nil
}

// ceil rounds up, to at most the largest int32.
func ceil(value float64) int32 {
	return int32(min(math.Ceil(value), math.MaxInt32))
}
