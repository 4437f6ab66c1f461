package serving

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // figures of work queues, requests and leader election

	"minikcm.dev/minikcm/controllers/manager"
)

// metrics serves what the libraries count, under upstream's names, and what the
// controllers tell of themselves.
func (c *Content) metrics() http.Handler {
	return promhttp.HandlerFor(Gatherer(c.status), promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Gatherer has what the libraries of the process count (work queues, requests of
// clients, leader election, the process itself), and what status tells of controllers.
func Gatherer(status func() []manager.Status) prometheus.Gatherer {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(status))
	return prometheus.Gatherers{legacyregistry.DefaultGatherer, registry}
}

// retriesHelp has to be what component-base says of the same figure.
const retriesHelp = "[BETA] Total number of retries handled by workqueue"

// managedHelp is what component-base says of the figure that its users have to set.
const managedHelp = "[BETA] Indicates where instances of a controller are currently running"

// collector asks the controllers when it is asked. So what it tells costs nothing
// while nobody looks.
type collector struct {
	status                                                       func() []manager.Status
	up, restarts, reconciles, failures, panics, running, failing *prometheus.Desc
	retries, managed                                             *prometheus.Desc
}

func newCollector(status func() []manager.Status) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("minikcm_controller_"+name, help, append([]string{"controller"}, labels...), nil)
	}
	return &collector{
		status:     status,
		up:         desc("running", "1 while the controller runs, 0 while it waits to be made again."),
		restarts:   desc("restarts_total", "How often the controller was made again after it had failed."),
		reconciles: desc("reconciles_total", "Reconciles that have ended."),
		failures:   desc("reconcile_failures_total", "Reconciles that have failed."),
		panics:     desc("panics_total", "Panics of reconciles and event handlers."),
		running:    desc("reconciles_in_progress", "Reconciles that run."),
		failing:    desc("failing_key", "Failures in a row of the keys that fail, for the worst of each controller.", "key"),
		// Upstream's queues count their retries themselves; ours leave it to the loop.
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
		if s.State == manager.Disabled {
			continue
		}
		send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			metrics <- prometheus.MustNewConstMetric(d, kind, value, append([]string{s.Name}, labels...)...)
		}
		up := 0.0
		if s.State == manager.Running {
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
		told := map[string]bool{} // two queues of one controller can have the same key
		for _, f := range s.Failing {
			if told[f.Key] {
				continue
			}
			told[f.Key] = true
			send(c.failing, prometheus.GaugeValue, float64(f.Failures), f.Key)
		}
	}
}
