package decide

import (
	"errors"
	"fmt"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// Snapshot is the input of a decision about an autoscaler.
type Snapshot struct {
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler
	// Scale is the target's scale; ScaleErr is the error if it could not be read.
	Scale    *autoscalingv1.Scale
	ScaleErr error
	// Pods are the pods that the scale selects. Rivals are all autoscalers whose targets
	// select any of them, if there are several.
	Pods   []*corev1.Pod
	Rivals []string
	// Readings are the values of the autoscaler's metrics, one each; nil if NeedsMetrics is
	// false.
	Readings []Reading
	History  History
	Options  Options
}

// Decision is the decision about an autoscaler.
type Decision struct {
	plan.Plan[autoscalingv2.HorizontalPodAutoscalerStatus]
	// Rescale is the change of the target's size; nil: none. The plan is complete only
	// after Rescaled has added the result of the change.
	Rescale *Rescale
	History History
	// Err is an error to log.
	Err error
}

// Rescale is a change of the target's size.
type Rescale struct {
	From, To int32
	// Reason is the reason in the words of upstream's events.
	Reason string
}

// NeedsMetrics reports whether metrics decide the target's size: not if the size is outside
// of the autoscaler's bounds, or 0 unless the autoscaler itself scaled the target to zero.
func NeedsMetrics(a *autoscalingv2.HorizontalPodAutoscaler, scale *autoscalingv1.Scale) bool {
	current, b := scale.Spec.Replicas, boundsOf(a)
	if current == 0 {
		return wakes(a)
	}
	return current <= b.max && current >= b.min
}

func boundsOf(a *autoscalingv2.HorizontalPodAutoscaler) bounds {
	return bounds{ptr.Deref(a.Spec.MinReplicas, 1), a.Spec.MaxReplicas}
}

// Autoscaler calculates an autoscaler's next size and its status.
func Autoscaler(in Snapshot, now time.Time) Decision {
	in.Options = in.Options.Completed()
	d := &decider{Snapshot: in, now: now, Decision: Decision{History: in.History}}
	d.conditions = conditions{list: slices.Clone(in.Autoscaler.Status.Conditions), now: now}
	d.decide()
	return d.Decision
}

// belowMin is the reason of a rescale to the minimum.
const belowMin = "Current number of replicas below Spec.MinReplicas"

type decider struct {
	Snapshot
	Decision
	now        time.Time
	conditions conditions
	current    int32
	metrics    []autoscalingv2.MetricStatus
}

func (d *decider) decide() {
	if d.ScaleErr != nil {
		d.event(corev1.EventTypeWarning, "FailedGetScale", d.ScaleErr.Error())
		d.conditions.set(autoscalingv2.AbleToScale, false, "FailedGetScale", "the HPA controller was unable to get the target's current scale: "+d.ScaleErr.Error())
		status := d.Autoscaler.Status
		status.Conditions = d.conditions.list
		d.setStatus(&status)
		d.Err = d.ScaleErr
		return
	}
	d.conditions.set(autoscalingv2.AbleToScale, true, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	d.current = d.Scale.Spec.Replicas
	if len(d.Decision.History.Recommendations) == 0 {
		d.Decision.History.Recommendations = []Sized{{d.current, d.now}}
	}
	b := boundsOf(d.Autoscaler)
	desired, reason := d.current, ""
	switch {
	case d.current == 0 && !wakes(d.Autoscaler):
		d.conditions.set(autoscalingv2.ScalingActive, false, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
	case d.current > b.max:
		desired, reason = b.max, "Current number of replicas above Spec.MaxReplicas"
	case d.current < b.min && d.current > 0:
		desired, reason = b.min, belowMin
	default:
		var ok bool
		if desired, reason, ok = d.byMetrics(b); !ok {
			d.finish(d.Autoscaler.Status.DesiredReplicas)
			return
		}
		if d.current == 0 && desired < b.min {
			desired = b.min
		}
		if d.current == 0 && desired > 0 && reason == "" {
			reason = belowMin
		}
	}
	if desired != d.current {
		d.Rescale = &Rescale{From: d.current, To: desired, Reason: reason}
	}
	d.finish(desired)
}

// byMetrics returns the size that the metrics require, within all limits, and the reason.
// ok is false if the metrics do not determine a size.
func (d *decider) byMetrics(b bounds) (desired int32, reason string, ok bool) {
	asked, metric, err := d.askMetrics()
	d.Err = err
	if err != nil && asked < 0 {
		d.event(corev1.EventTypeWarning, "FailedComputeMetricsReplicas", err.Error())
		return 0, "", false
	}
	switch {
	case asked > d.current:
		reason = metric + " above target"
	case asked < d.current:
		reason = "All metrics below target"
	}
	return d.normalize(b, asked), reason, true
}

// askMetrics returns the largest size that any metric requires, and that metric's name.
// With an error, the size is -1, or the largest size that the other metrics require if it is not
// less than the current size.
func (d *decider) askMetrics() (asked int32, metric string, err error) {
	if err := d.checkSelector(); err != nil {
		return -1, "", err
	}
	a := d.Autoscaler
	s := &scaling{
		opts: &d.Options, now: d.now, namespace: a.Namespace, pods: d.Pods, tol: d.tolerance(), spec: d.current, size: d.Scale.Status.Replicas,
	}
	d.metrics = make([]autoscalingv2.MetricStatus, len(a.Spec.Metrics))
	var first *failure
	failed := 0
	for i := range a.Spec.Metrics {
		p, failure := s.propose(&a.Spec.Metrics[i], d.reading(i))
		if failure != nil {
			d.event(corev1.EventTypeWarning, failure.reason, failure.cause.Error())
			if failed++; first == nil {
				first = failure
			}
			continue
		}
		d.metrics[i] = p.status
		if asked == 0 || p.replicas > asked {
			asked, metric = p.replicas, p.name
		}
	}
	if first != nil {
		err = fmt.Errorf("invalid metrics (%d invalid out of %d), first error is: %w", failed, len(a.Spec.Metrics), first.err)
	}
	if first != nil && (failed == len(a.Spec.Metrics) || asked < d.current) {
		d.conditions.set(autoscalingv2.ScalingActive, false, first.reason, "the HPA was unable to compute the replica count: "+first.cause.Error())
		return -1, "", err
	}
	d.conditions.set(autoscalingv2.ScalingActive, true, "ValidMetricFound", "the HPA was able to successfully calculate a replica count from "+metric)
	return asked, metric, err
}

func (d *decider) reading(i int) Reading {
	if i < len(d.Readings) {
		return d.Readings[i]
	}
	return Reading{Err: errors.New("the metric has not been read")}
}

// checkSelector fails for a target whose pods are unknown, or which shares pods with the target of
// another autoscaler.
func (d *decider) checkSelector() error {
	selector := d.Scale.Status.Selector
	if selector == "" {
		return d.badSelector("SelectorRequired", "InvalidSelector", "selector is required", "the HPA target's scale is missing a selector")
	}
	if _, err := labels.Parse(selector); err != nil {
		message := fmt.Sprintf("couldn't convert selector into a corresponding internal selector object: %v", err)
		return d.badSelector("InvalidSelector", "InvalidSelector", message, message)
	}
	if len(d.Rivals) > 1 {
		message := fmt.Sprintf("pods by selector %s are controlled by more than one HPA (e.g. %v)", selector, d.Rivals[:2])
		return d.badSelector("AmbiguousSelector", "AmbiguousSelector", message, message)
	}
	return nil
}

func (d *decider) badSelector(event, reason, text, message string) error {
	d.event(corev1.EventTypeWarning, event, text)
	d.conditions.set(autoscalingv2.ScalingActive, false, reason, message)
	return errors.New(text)
}

// tolerance returns the autoscaler's own tolerance (KEP-4951), or the controller's.
func (d *decider) tolerance() tolerance {
	t := tolerance{d.Options.Tolerance, d.Options.Tolerance}
	if behavior := d.Autoscaler.Spec.Behavior; behavior != nil {
		if rules := behavior.ScaleDown; rules != nil && rules.Tolerance != nil {
			t.down = rules.Tolerance.AsApproximateFloat64()
		}
		if rules := behavior.ScaleUp; rules != nil && rules.Tolerance != nil {
			t.up = rules.Tolerance.AsApproximateFloat64()
		}
	}
	return t
}

// normalize limits the size that the metrics require by the autoscaler's windows, policies
// and bounds, and sets the conditions about it.
func (d *decider) normalize(b bounds, asked int32) int32 {
	behavior, h := d.Autoscaler.Spec.Behavior, d.Decision.History
	var stable int32
	var end limited
	why, message := "ScaleDownStabilized", "recent recommendations were higher than current one, applying the highest recent recommendation"
	if behavior == nil || behavior.ScaleUp == nil || behavior.ScaleDown == nil {
		stable = h.stabilized(asked, d.now, d.Options.DownscaleStabilization)
		end = b.limit(d.current, stable)
		d.Decision.History = h.recommended(asked, d.now, d.Options.DownscaleStabilization)
	} else {
		w := windowsOf(behavior, d.Options.DownscaleStabilization)
		stable = h.stabilizedBy(w, d.current, asked, d.now)
		end = b.limitBy(behavior, h, d.current, stable, d.now)
		d.Decision.History = h.recommended(asked, d.now, max(w.up, w.down))
		if asked >= d.current {
			why, message = "ScaleUpStabilized", "recent recommendations were lower than current one, applying the lowest recent recommendation"
		}
	}
	if stable == asked {
		why, message = "ReadyForNewScale", "recommended size matches current size"
	}
	d.conditions.set(autoscalingv2.AbleToScale, true, why, message)
	d.conditions.set(autoscalingv2.ScalingLimited, end.replicas != stable, end.reason, end.message)
	return end.replicas
}

// finish computes the status for the case that the target is not scaled.
func (d *decider) finish(desired int32) {
	d.setStatus(&autoscalingv2.HorizontalPodAutoscalerStatus{
		CurrentReplicas: d.current, DesiredReplicas: desired, LastScaleTime: d.Autoscaler.Status.LastScaleTime,
		CurrentMetrics: d.metrics, Conditions: d.conditions.list, ObservedGeneration: new(d.Autoscaler.Generation),
	})
}

func (d *decider) setStatus(status *autoscalingv2.HorizontalPodAutoscalerStatus) {
	d.Status = status
	d.RequeueAfter = d.Options.SyncPeriod
}

func (d *decider) event(kind, reason, message string) {
	d.Events = append(d.Events, plan.Event{Type: kind, Reason: reason, Message: message})
}

// Rescaled completes a decision with the result of its Rescale: err is the error of the
// write, or nil.
func Rescaled(in Snapshot, d Decision, err error, now time.Time) Decision {
	c := conditions{list: slices.Clone(d.Status.Conditions), now: now}
	status, r := *d.Status, d.Rescale
	if err != nil {
		d.Events = append(slices.Clone(d.Events), plan.Event{
			Type: corev1.EventTypeWarning, Reason: "FailedRescale", Message: fmt.Sprintf("New size: %d; reason: %s; error: %v", r.To, r.Reason, err),
		})
		c.set(autoscalingv2.AbleToScale, false, "FailedUpdateScale", fmt.Sprintf("the HPA controller was unable to update the target scale: %v", err))
		status.DesiredReplicas = in.Autoscaler.Status.DesiredReplicas
		d.Err = fmt.Errorf("failed to rescale: %w", err)
	} else {
		d.Events = append(slices.Clone(d.Events), plan.Event{
			Type: corev1.EventTypeNormal, Reason: "SuccessfulRescale", Message: fmt.Sprintf("New size: %d; reason: %s", r.To, r.Reason),
		})
		c.set(autoscalingv2.AbleToScale, true, "SucceededRescale", fmt.Sprintf("the HPA controller was able to update the target scale to %d", r.To))
		if r.From > 0 && r.To == 0 && boundsOf(in.Autoscaler).min == 0 && scalesFromZero(in.Autoscaler) {
			c.set(autoscalingv2.ScaledToZero, true, "ScaledToZero", "the HPA controller scaled the workload to zero")
		} else {
			c.set(autoscalingv2.ScaledToZero, false, "NotScaledToZero", "the HPA controller did not scale the workload to zero")
		}
		scaledAt := metav1.NewTime(now)
		status.LastScaleTime = &scaledAt
		d.History = d.History.scaled(in.Autoscaler.Spec.Behavior, r.From, r.To, now)
	}
	status.Conditions = c.list
	d.Status = &status
	return d
}
