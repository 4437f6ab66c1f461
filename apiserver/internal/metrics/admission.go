package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/clock"
)

// Admission are the metrics of admission plugins, webhooks and policies, with upstream's names, labels
// and buckets. Durations are the machine's time or, if it is longer, the cluster's.
type Admission struct {
	clock clock.Clock

	step, plugin, webhook  *prometheus.HistogramVec
	summary                *prometheus.SummaryVec
	rejections, calls      *prometheus.CounterVec
	failedOpen             *prometheus.CounterVec
	validating, mutating   *prometheus.CounterVec
	validatingD, mutatingD *prometheus.HistogramVec
}

// maxCode caps the codes of webhooks in labels, as upstream.
const maxCode = 600

// AddAdmission serves the metrics of admission, on the cluster's clock.
func (m *Metrics) AddAdmission(c clock.Clock) {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "apiserver", Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "apiserver", Name: name, Help: help}, labels)
	}
	buckets := []float64{.005, .025, .1, .5, 1, 2.5}
	policyBuckets := []float64{.0000005, .001, .01, .1, 1}
	policy := []string{"policy", "policy_binding", "error_type", "enforcement_action"}
	mutation := []string{"policy", "policy_binding", "error_type"}
	a := &Admission{
		clock:   c,
		step:    histogram("admission_step_admission_duration_seconds", "How long the steps of admission took, by type of step (validate or admit) and operation.", buckets, "type", "operation", "rejected"),
		plugin:  histogram("admission_controller_admission_duration_seconds", "How long admission plugins took, by name, type (validate or admit) and operation.", buckets, "name", "type", "operation", "rejected"),
		webhook: histogram("admission_webhook_admission_duration_seconds", "How long admission webhooks took, by name, type (validating or admit) and operation.", append(buckets[:len(buckets):len(buckets)], 10, 25), "name", "type", "operation", "rejected"),
		summary: prometheus.NewSummaryVec(prometheus.SummaryOpts{
			Namespace: "apiserver", Name: "admission_step_admission_duration_seconds_summary", MaxAge: 5 * time.Hour,
			Help: "How long the steps of admission took, by type of step (validate or admit) and operation.",
		}, []string{"type", "operation", "rejected"}),
		rejections: counter("admission_webhook_rejection_count", "Requests that admission webhooks rejected, by name, type (validating or admit) and operation. "+
			"The error type is calling_webhook_error, apiserver_internal_error or, if the webhook answered, no_error; the code is the webhook's, at most 600.",
			"name", "type", "operation", "error_type", "rejection_code"),
		calls:       counter("admission_webhook_request_total", "Calls of admission webhooks, by name, type (validating or admit) and operation, with the code of the answer, at most 600.", "name", "type", "operation", "code", "rejected"),
		failedOpen:  counter("admission_webhook_fail_open_count", "Failed calls of admission webhooks whose failure policy is Ignore, by name and type (validating or admit).", "name", "type"),
		validating:  counter("validating_admission_policy_check_total", "Checks of ValidatingAdmissionPolicies that denied a request, warned, audited or failed, by policy and binding.", policy...),
		validatingD: histogram("validating_admission_policy_check_duration_seconds", "How long these checks took.", policyBuckets, policy...),
		mutating:    counter("mutating_admission_policy_check_total", "Evaluations of MutatingAdmissionPolicies, by policy and binding.", mutation...),
		mutatingD:   histogram("mutating_admission_policy_check_duration_seconds", "How long these evaluations took.", policyBuckets, mutation...),
	}
	m.registry.MustRegister(a.step, a.plugin, a.webhook, a.summary, a.rejections, a.calls, a.failedOpen, a.validating, a.validatingD, a.mutating, a.mutatingD)
	m.Admission = a
}

// Begin implements admission.Observer.
func (a *Admission) Begin() func() time.Duration { return clock.StopwatchOn(a.clock) }

// Plugin implements admission.Observer.
func (a *Admission) Plugin(name string, checks bool, op admission.Operation, rejected bool, took time.Duration) {
	a.plugin.WithLabelValues(name, stepType(checks), string(op), strconv.FormatBool(rejected)).Observe(took.Seconds())
}

// Step implements admission.Observer.
func (a *Admission) Step(checks bool, op admission.Operation, rejected bool, took time.Duration) {
	kind, refused := stepType(checks), strconv.FormatBool(rejected)
	a.step.WithLabelValues(kind, string(op), refused).Observe(took.Seconds())
	a.summary.WithLabelValues(kind, string(op), refused).Observe(took.Seconds())
}

func stepType(checks bool) string {
	if checks {
		return "validate"
	}
	return "admit"
}

// Webhook implements hooks.Observer.
func (a *Admission) Webhook(name, kind, operation string, code int, rejected bool, took time.Duration) {
	a.calls.WithLabelValues(name, kind, operation, strconv.Itoa(min(code, maxCode)), strconv.FormatBool(rejected)).Inc()
	a.webhook.WithLabelValues(name, kind, operation, strconv.FormatBool(rejected)).Observe(took.Seconds())
}

// Rejection implements hooks.Observer.
func (a *Admission) Rejection(name, kind, operation, errorType string, code int) {
	a.rejections.WithLabelValues(name, kind, operation, errorType, strconv.Itoa(min(code, maxCode))).Inc()
}

// FailedOpen implements hooks.Observer.
func (a *Admission) FailedOpen(name, kind string) { a.failedOpen.WithLabelValues(name, kind).Inc() }

// ValidatingPolicy implements hooks.Observer.
func (a *Admission) ValidatingPolicy(policy, binding, errorType, action string, took time.Duration) {
	a.validating.WithLabelValues(policy, binding, errorType, action).Inc()
	a.validatingD.WithLabelValues(policy, binding, errorType, action).Observe(took.Seconds())
}

// MutatingPolicy implements hooks.Observer.
func (a *Admission) MutatingPolicy(policy, binding, errorType string, took time.Duration) {
	a.mutating.WithLabelValues(policy, binding, errorType).Inc()
	a.mutatingD.WithLabelValues(policy, binding, errorType).Observe(took.Seconds())
}
