package serving

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // figures of work queues, requests and leader election

	"minikcm.dev/minikcm/controllers"
)

// metrics serves the metrics of the libraries, under upstream's names, and the metrics of the
// controllers.
func (c *Content) metrics() http.Handler {
	all := prometheus.Gatherers{Gatherer(c.status)}
	if c.Collected != nil {
		all = append(all, c.Collected)
	}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Gatherer gathers the metrics of the process's libraries (work queues, client requests, leader
// election, the process itself) and the metrics derived from the status of controllers.
func Gatherer(status func() []controllers.Status) prometheus.Gatherer {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(status))
	return prometheus.Gatherers{legacyregistry.DefaultGatherer, registry}
}

// retriesHelp must equal component-base's help text of the same metric.
const retriesHelp = "[BETA] Total number of retries handled by workqueue"

// managedHelp is component-base's help text of a metric that its users have to set.
const managedHelp = "[BETA] Indicates where instances of a controller are currently running"

// collector derives its metrics from the status of the controllers at each scrape, so they
// cost nothing between scrapes.
type collector struct {
	status                                                       func() []controllers.Status
	up, restarts, reconciles, failures, panics, running, failing *prometheus.Desc
	retries, managed                                             *prometheus.Desc
}

func newCollector(status func() []controllers.Status) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("minikcm_controller_"+name, help, append([]string{"controller"}, labels...), nil)
	}
	return &collector{
		status:     status,
		up:         desc("running", "1 while the controller runs, 0 while it waits to be restarted."),
		restarts:   desc("restarts_total", "How often the controller was restarted after a failure."),
		reconciles: desc("reconciles_total", "Reconciles that have ended."),
		failures:   desc("reconcile_failures_total", "Reconciles that have failed."),
		panics:     desc("panics_total", "Panics of reconciles and event handlers."),
		running:    desc("reconciles_in_progress", "Reconciles that run."),
		failing:    desc("failing_key", "Failures in a row of the keys that fail, for the worst of each controller.", "key"),
		// Upstream's queues count their retries themselves; here the loop counts them.
		retries: prometheus.NewDesc("workqueue_retries_total", retriesHelp, []string{"name"}, nil),
		managed: prometheus.NewDesc("running_managed_controllers", managedHelp, []string{"name"}, prometheus.Labels{"manager": component}),
	}
}

func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.up, c.managed, c.restarts, c.reconciles, c.failures, c.retries, c.panics, c.running, c.failing} {
		descs <- d
	}
}

func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	for _, s := range c.status() {
		if s.State == controllers.Disabled {
			continue
		}
		send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			metrics <- prometheus.MustNewConstMetric(d, kind, value, append([]string{s.Name}, labels...)...)
		}
		up := 0.0
		if s.State == controllers.Running {
			up = 1
		}
		send(c.up, prometheus.GaugeValue, up)
		send(c.managed, prometheus.GaugeValue, up)
		send(c.restarts, prometheus.CounterValue, float64(s.Restarts))
		send(c.reconciles, prometheus.CounterValue, float64(s.Reconciles))
		send(c.failures, prometheus.CounterValue, float64(s.Failures))
		send(c.retries, prometheus.CounterValue, float64(s.Retries))
		send(c.panics, prometheus.CounterValue, float64(s.Panics))
		send(c.running, prometheus.GaugeValue, float64(len(s.InProgress)))
		sent := map[string]bool{} // two queues of one controller can have the same key
		for _, f := range s.Failing {
			if sent[f.Key] {
				continue
			}
			sent[f.Key] = true
			send(c.failing, prometheus.GaugeValue, float64(f.Failures), f.Key)
		}
	}
}
