package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/gorilla/mux"
	apimachineryversion "k8s.io/apimachinery/pkg/version"

	"minikcm.dev/minikcm/apiserver/response"
)

// healthCheck is one named check of a health endpoint.
type healthCheck struct {
	name  string
	check func(r *http.Request) error
}

// etcdCheckTimeout limits the store's answer to a health check, as upstream's default
// of --etcd-healthcheck-timeout.
const etcdCheckTimeout = 2 * time.Second

// routeHealth serves /healthz, /livez and /readyz with ?verbose, ?exclude= and one
// path for each check (Kubernetes documentation, "Kubernetes API health
// endpoints"), and /version.
func (s *Server) routeHealth(router *mux.Router) {
	ping := healthCheck{"ping", func(*http.Request) error { return nil }}
	etcd := healthCheck{"etcd", func(r *http.Request) error { return s.checkStore(r.Context()) }}
	shutdown := healthCheck{"shutdown", func(*http.Request) error {
		if !s.ready.Load() {
			return fmt.Errorf("the apiserver is not ready, or stopping")
		}
		return nil
	}}
	for name, checks := range map[string][]healthCheck{
		"healthz": {ping, etcd},
		"livez":   {ping, etcd},
		"readyz":  {ping, etcd, shutdown},
	} {
		router.HandleFunc("/"+name, func(w http.ResponseWriter, r *http.Request) { s.serveHealth(w, r, name, checks) })
		for _, c := range checks {
			router.HandleFunc("/"+name+"/"+c.name, func(w http.ResponseWriter, r *http.Request) {
				s.serveHealth(w, r, name, []healthCheck{c})
			})
		}
	}
	for _, slash := range []string{"", "/"} {
		router.HandleFunc("/version"+slash, response.GetOnly(s.serveVersion))
	}
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
	excluded := map[string]bool{}
	for _, e := range query["exclude"] {
		excluded[e] = true
	}
	var out strings.Builder
	failed := false
	for _, c := range checks {
		switch {
		case excluded[c.name]:
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.name)
		default:
			err := c.check(r)
			s.metrics.ObserveCheck(c.name, name, err)
			if err != nil {
				failed = true
				fmt.Fprintf(&out, "[-]%s failed: %v\n", c.name, err)
				continue
			}
			fmt.Fprintf(&out, "[+]%s ok\n", c.name)
		}
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
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		response.Error(w, r, err)
		return
	}
	response.Bytes(w, r, http.StatusOK, "application/json", data)
}
