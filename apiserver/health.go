package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"k8s.io/apimachinery/pkg/util/sets"
	apimachineryversion "k8s.io/apimachinery/pkg/version"

	"minikcm.dev/minikcm/apiserver/internal/response"
)

// healthCheck is one named check of a health endpoint.
type healthCheck struct {
	name  string
	check func(r *http.Request) error
}

// etcdCheckTimeout limits the store's answer to a health check, as upstream's default
// of --etcd-healthcheck-timeout.
const etcdCheckTimeout = 2 * time.Second

// startHooks names the hooks that upstream runs after it has begun to listen, as far as this server
// has them too. This server runs them before it serves its first request, so their checks always pass.
var startHooks = []string{
	"start-apiserver-admission-initializer", "generic-apiserver-start-informers", "priority-and-fairness-config-consumer",
	"priority-and-fairness-filter", "start-apiextensions-informers", "start-apiextensions-controllers", "crd-informer-synced",
	"start-system-namespaces-controller", "start-kube-apiserver-identity-lease-controller", "start-legacy-token-tracking-controller",
	"start-service-ip-repair-controllers", "rbac/bootstrap-roles", "scheduling/bootstrap-system-priority-classes",
	"priority-and-fairness-config-producer", "bootstrap-controller", "start-kubernetes-service-cidr-controller",
	"start-kube-aggregator-informers", "apiservice-status-local-available-controller", "apiservice-status-remote-available-controller",
	"apiservice-registration-controller", "apiservice-discovery-controller", "kube-apiserver-autoregistration",
}

// healthChecks returns the checks of each endpoint, in upstream's order.
func (s *Server) healthChecks() map[string][]healthCheck {
	passed := func(*http.Request) error { return nil }
	ping := healthCheck{"ping", passed}
	store := func(r *http.Request) error { return s.checkStore(r.Context()) }
	etcd := healthCheck{"etcd", store}
	shutdown := healthCheck{"shutdown", func(*http.Request) error {
		if !s.ready.Load() {
			return errors.New("the apiserver is not ready, or stopping")
		}
		return nil
	}}
	var hooks []healthCheck
	for _, name := range startHooks {
		hooks = append(hooks, healthCheck{"poststarthook/" + name, passed})
	}
	hooks = append(hooks, healthCheck{"autoregister-completion", passed})
	live := slices.Concat([]healthCheck{ping, etcd}, hooks)
	ready := slices.Concat([]healthCheck{ping, etcd, {"etcd-readiness", store}, {"informer-sync", passed}}, hooks, []healthCheck{shutdown})
	return map[string][]healthCheck{"healthz": live, "livez": live, "readyz": ready}
}

// routeHealth serves /healthz, /livez and /readyz with ?verbose, ?exclude= and one
// path for each check (Kubernetes documentation, "Kubernetes API health
// endpoints"), and /version.
func (s *Server) routeHealth(router *mux.Router) {
	for name, checks := range s.healthChecks() {
		router.HandleFunc("/"+name, func(w http.ResponseWriter, r *http.Request) { s.serveHealth(w, r, name, checks) })
		for _, c := range checks {
			router.HandleFunc("/"+name+"/"+c.name, func(w http.ResponseWriter, r *http.Request) { serveCheck(w, r, c) })
		}
	}
	for _, slash := range []string{"", "/"} {
		router.HandleFunc("/version"+slash, response.Produces([]string{"application/json"}, s.serveVersion))
	}
}

// serveCheck serves the path of one check.
func serveCheck(w http.ResponseWriter, r *http.Request, c healthCheck) {
	if err := c.check(r); err != nil {
		http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprint(w, "ok")
}

// checkStore checks that the store answers a read.
func (s *Server) checkStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, etcdCheckTimeout)
	defer cancel()
	_, err := s.opts.Store.Revision(ctx)
	return err
}

func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request, name string, checks []healthCheck) {
	query := r.URL.Query()
	_, verbose := query["verbose"]
	excluded, unknown := query["exclude"], sets.New(query["exclude"]...)
	var out strings.Builder
	failed := false
	for _, c := range checks {
		switch {
		case slices.Contains(excluded, c.name):
			unknown.Delete(c.name)
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.name)
		default:
			err := c.check(r)
			s.metrics.ObserveCheck(c.name, name, err)
			if err != nil {
				failed = true
				// The reason is shown only to users who may request the check itself.
				s.opts.Logger.V(2).Info("A health check failed", "check", c.name, "endpoint", name, "reason", err.Error())
				fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.name)
				continue
			}
			fmt.Fprintf(&out, "[+]%s ok\n", c.name)
		}
	}
	if len(unknown) > 0 {
		fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %s\n", quoted(sets.List(unknown)))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case failed:
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, "%s%s check failed\n", out.String(), name)
	case verbose:
		_, _ = fmt.Fprintf(w, "%s%s check passed\n", out.String(), name)
	default:
		_, _ = w.Write([]byte("ok"))
	}
}

// quoted joins names in quotes.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strconv.Quote(name)
	}
	return strings.Join(out, ",")
}

// serveVersion answers GET /version with the version whose API is served.
func (s *Server) serveVersion(w http.ResponseWriter, r *http.Request) {
	version := s.opts.KubeVersion
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	info := apimachineryversion.Info{
		Major: parts[0], GitVersion: version, GitTreeState: "clean",
		GoVersion: goruntime.Version(), Compiler: goruntime.Compiler,
		Platform: goruntime.GOOS + "/" + goruntime.GOARCH,
	}
	if len(parts) > 1 {
		info.Minor = parts[1]
	}
	if minor, err := strconv.Atoi(info.Minor); err == nil && minor >= 33 { // the first release with these fields
		info.EmulationMajor, info.EmulationMinor, info.MinCompatibilityMajor = info.Major, info.Minor, info.Major
		info.MinCompatibilityMinor = strconv.Itoa(minor - 1) // as upstream's default of --min-compatibility-version
	}
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		response.Error(w, r, err)
		return
	}
	response.Bytes(w, r, http.StatusOK, "application/json", data)
}
