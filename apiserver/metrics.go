package apiserver

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the apiserver's metrics, with upstream's names (Kubernetes documentation,
// "Kubernetes Metrics Reference").
type metrics struct {
	registry *prometheus.Registry
	all      prometheus.Gatherers // the registry, and the metrics of others
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	watchers *prometheus.GaugeVec
	slis     *slis
}

// newMetrics returns the metrics. If others is given, it is expected to have the
// process metrics.
func newMetrics(others prometheus.Gatherer) *metrics {
	labels := []string{"verb", "group", "version", "resource", "subresource", "scope"}
	m := &metrics{
		registry: prometheus.NewRegistry(), slis: newSLIs(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_request_total",
			Help: "API requests by verb, resource, scope and HTTP code.",
		}, append(labels[:len(labels):len(labels)], "code")),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "apiserver_request_duration_seconds",
			Help:    "How long API requests other than watches took, in seconds of the machine's time.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, labels),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "apiserver_current_inflight_requests",
			Help: "Requests being served, by kind of request; watches are not among them.",
		}, []string{"request_kind"}),
		watchers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "apiserver_longrunning_requests",
			Help: "Watches and connections to pods being served.",
		}, labels),
	}
	m.registry.MustRegister(m.requests, m.duration, m.inFlight, m.watchers)
	m.all = prometheus.Gatherers{m.registry}
	if others != nil {
		m.all = append(m.all, others)
	} else {
		m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// begin counts a request as in flight; the returned function ends that.
func (m *metrics) begin(rq *request) func() {
	var gauge prometheus.Gauge
	switch verb := rq.Verb; {
	case verb == verbWatch || rq.connects():
		gauge = m.watchers.WithLabelValues(rq.metricLabels()...)
	case verb == verbGet || verb == verbList:
		gauge = m.inFlight.WithLabelValues("readOnly")
	default:
		gauge = m.inFlight.WithLabelValues("mutating")
	}
	gauge.Inc()
	return gauge.Dec
}

// observe records the outcome of a request.
func (m *metrics) observe(rq *request, code int, elapsed time.Duration) {
	labels := rq.metricLabels()
	if !rq.longRunning() {
		m.duration.WithLabelValues(labels...).Observe(elapsed.Seconds())
	}
	m.requests.WithLabelValues(append(labels, strconv.Itoa(code))...).Inc()
}

// metricVerbs are the verbs as upstream's metrics spell them.
var metricVerbs = map[string]string{
	verbGet: "GET", verbList: "LIST", verbWatch: "WATCH", verbCreate: "POST", verbUpdate: "PUT",
	verbPatch: "PATCH", verbDelete: "DELETE", verbDeleteCollection: "DELETECOLLECTION",
}

func (rq *request) metricLabels() []string {
	scope := "cluster"
	switch {
	case rq.Name != "":
		scope = "resource"
	case rq.Namespace != "":
		scope = "namespace"
	}
	verb := metricVerbs[rq.Verb]
	switch {
	case rq.connects():
		verb = "CONNECT"
	case verb == "":
		verb = "other"
	}
	return []string{verb, rq.GVR.Group, rq.GVR.Version, rq.GVR.Resource, rq.Subresource, scope}
}

// codeWriter records the status code of a response.
type codeWriter struct {
	http.ResponseWriter
	code int
}

func (w *codeWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *codeWriter) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Flush flushes the underlying writer if it supports that.
func (w *codeWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap lets http.ResponseController find the underlying writer.
func (w *codeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
