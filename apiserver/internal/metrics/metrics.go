package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/request"
)

// Metrics are the apiserver's metrics, with upstream's names (Kubernetes documentation,
// "Kubernetes Metrics Reference").
type Metrics struct {
	registry *prometheus.Registry
	all      prometheus.Gatherers // the registry, and the metrics of others
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	watchers *prometheus.GaugeVec
	health   *health
	// Admission are the metrics of admission; see AddAdmission.
	Admission *Admission

	// forgetting is locked while series are deleted.
	forgetting sync.RWMutex
}

// New returns the server's metrics, together with the metrics of others and of parts, the cluster's other
// parts; both may be nil. If others is given, it is expected to have the process metrics.
func New(others, parts prometheus.Gatherer) *Metrics {
	labels := []string{"verb", "group", "version", "resource", "subresource", "scope"}
	m := &Metrics{
		registry: prometheus.NewRegistry(), health: newHealth(),
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
	if parts != nil {
		m.all = append(m.all, parts)
	}
	return m
}

// Handler serves GET /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Request holds the properties of a request that the metrics distinguish.
type Request struct {
	request.Info
	// Connects reports that the request connects the client to a pod.
	Connects bool
	// LongRunning reports that the request may last indefinitely.
	LongRunning bool
	// Served reports whether the resource is still served; nil means that it always is.
	Served func() bool
}

// Begin counts a request as in flight; the returned function ends that.
func (m *Metrics) Begin(rq *Request) func() {
	var gauge prometheus.Gauge
	switch verb := rq.Verb; {
	case verb == request.VerbWatch || rq.Connects:
		gauge = m.watchers.WithLabelValues(rq.labels()...)
	case verb == request.VerbGet || verb == request.VerbList:
		gauge = m.inFlight.WithLabelValues("readOnly")
	default:
		gauge = m.inFlight.WithLabelValues("mutating")
	}
	gauge.Inc()
	return gauge.Dec
}

// Observe records the outcome of a request: its status code, and how long it took in real
// time. The requests that outlast their resource, such as its watches, are not recorded.
func (m *Metrics) Observe(rq *Request, code int, elapsed time.Duration) {
	m.forgetting.RLock()
	defer m.forgetting.RUnlock()
	if rq.Served != nil && !rq.Served() {
		return
	}
	labels := rq.labels()
	if !rq.LongRunning {
		m.duration.WithLabelValues(labels...).Observe(elapsed.Seconds())
	}
	m.requests.WithLabelValues(append(labels, strconv.Itoa(code))...).Inc()
}

// Forget deletes the series of a resource that is not served any more. Otherwise each
// custom kind that ever existed would keep some.
func (m *Metrics) Forget(gvr schema.GroupVersionResource) {
	m.forgetting.Lock()
	defer m.forgetting.Unlock()
	labels := prometheus.Labels{"group": gvr.Group, "version": gvr.Version, "resource": gvr.Resource}
	m.requests.DeletePartialMatch(labels)
	m.duration.DeletePartialMatch(labels)
	m.watchers.DeletePartialMatch(labels)
}

// metricVerbs are the verbs as upstream's metrics spell them.
var metricVerbs = map[string]string{
	request.VerbGet: "GET", request.VerbList: "LIST", request.VerbWatch: "WATCH", request.VerbCreate: "POST", request.VerbUpdate: "PUT",
	request.VerbPatch: "PATCH", request.VerbDelete: "DELETE", request.VerbDeleteCollection: "DELETECOLLECTION",
}

func (rq *Request) labels() []string {
	scope := "cluster"
	switch {
	case rq.Name != "":
		scope = "resource"
	case rq.Namespace != "":
		scope = "namespace"
	}
	verb := metricVerbs[rq.Verb]
	switch {
	case rq.Connects:
		verb = "CONNECT"
	case verb == "":
		verb = "other"
	}
	return []string{verb, rq.GVR.Group, rq.GVR.Version, rq.GVR.Resource, rq.Subresource, scope}
}
