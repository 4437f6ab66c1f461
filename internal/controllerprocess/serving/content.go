package serving

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	goruntime "runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/statusz"
	"k8s.io/client-go/tools/leaderelection"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/configz"
	"k8s.io/component-base/metrics/prometheus/slis"

	"minikcm.dev/minikcm/controllers"
)

// component is the name of the process, which is upstream's.
const component = "kube-controller-manager"

// Content holds the sources of the content that the HTTPS server serves.
type Content struct {
	// Controllers are the names of the controllers that the process runs when it leads.
	Controllers []string
	// Managers returns the managers that run at present; none while the process does not
	// lead.
	Managers func() []*controllers.Manager
	// Election is unhealthy when a leader can neither renew its lease nor stop; nil if
	// there is no leader election.
	Election *leaderelection.HealthzAdaptor
	// Flags are the flags of the command line, for /flagz.
	Flags cliflag.NamedFlagSets
	// Profiling serves /debug/pprof.
	Profiling bool
	// Contention enables the block profile in /debug/pprof.
	Contention bool
	// Collected are the metrics of the controllers; nil: none.
	Collected prometheus.Gatherer
	// Version is the Kubernetes version that the process belongs to, for /statusz.
	Version string
}

// Handler returns the handler for the content. It does not authenticate or authorize.
func (c *Content) Handler() http.Handler {
	m := mux.NewPathRecorderMux(component)
	checks := c.checks()
	healthz.InstallHandler(m, checks...)
	healthz.InstallLivezHandler(m, checks...)
	healthz.InstallReadyzHandler(m, checks...)
	configz.InstallHandler(m)
	m.Handle("/metrics", c.metrics())
	slis.SLIMetricsWithReset{}.Install(m)
	m.Handle("/controllers", http.HandlerFunc(c.serveControllers))
	m.UnlistedHandlePrefix("/debug/controllers/", http.HandlerFunc(c.serveDebug))
	if c.Profiling {
		if c.Contention {
			goruntime.SetBlockProfileRate(1)
		}
		m.UnlistedHandle("/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound))
		m.UnlistedHandlePrefix("/debug/pprof/", http.HandlerFunc(pprof.Index))
		m.UnlistedHandle("/debug/pprof/cmdline", http.HandlerFunc(pprof.Cmdline))
		m.UnlistedHandle("/debug/pprof/profile", http.HandlerFunc(pprof.Profile))
		m.UnlistedHandle("/debug/pprof/symbol", http.HandlerFunc(pprof.Symbol))
		m.UnlistedHandle("/debug/pprof/trace", http.HandlerFunc(pprof.Trace))
	}
	flagz.Install(m, component, flagz.NamedFlagSetsReader{FlagSets: c.Flags})
	statusz.Install(m, component, statusz.NewRegistry(compatibility.NewEffectiveVersionFromString(c.Version, "", ""), statusz.WithListedPaths(m.ListedPaths())))
	return m
}

// PublishConfig shows the configuration at /configz of this process until remove is called.
func PublishConfig(name string, config runtime.Object) (remove func(), err error) {
	published, err := configz.New(name)
	if err != nil {
		return nil, fmt.Errorf("publishing the configuration: %w", err)
	}
	if err := published.Set(config); err != nil {
		configz.Delete(name)
		return nil, fmt.Errorf("publishing the configuration: %w", err)
	}
	return func() { configz.Delete(name) }, nil
}

// checks returns the health checks: the checks of the process and one for each controller. A
// controller is healthy if it does not run because another process leads.
func (c *Content) checks() []healthz.HealthChecker {
	checks := []healthz.HealthChecker{healthz.PingHealthz}
	if c.Election != nil {
		checks = append(checks, c.Election)
	}
	for _, name := range c.Controllers {
		checks = append(checks, healthz.NamedCheck(name, func(*http.Request) error {
			for _, m := range c.Managers() {
				if err := m.Healthy(name); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return checks
}

// serveControllers serves the status of the controllers, like /minikcm/v1/controllers of a
// cluster that runs its controllers in process.
func (c *Content) serveControllers(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(c.status()) // fails only if the connection is gone
}

// status merges the statuses of the controllers over all managers.
func (c *Content) status() []controllers.Status {
	all := []controllers.Status{}
	for i, m := range c.Managers() {
		for j, s := range m.Status() {
			if i == 0 {
				all = append(all, s)
			} else if s.State != controllers.Disabled {
				all[j] = s
			}
		}
	}
	return all
}

// serveDebug serves the debug handler of a controller at /debug/controllers/NAME and below
// it, as upstream does.
func (c *Content) serveDebug(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/debug/controllers/"), "/")
	for _, m := range c.Managers() {
		if handler := m.Debug(name); handler != nil {
			handler.ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, fmt.Sprintf("no controller %q that runs here has something to show", name), http.StatusNotFound)
}
