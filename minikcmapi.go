package minikcm

import (
	"encoding/json"
	"net/http"
	"strings"
)

// controllersPath serves the states of the cluster's controllers.
const controllersPath = ownPath + "/controllers"

// Controllers returns the status of every controller, including those that the cluster
// does not run.
func (c *Cluster) Controllers() []ControllerStatus {
	m := c.manager.Load()
	if m == nil {
		return nil
	}
	return m.Status()
}

// ControllerLoops returns the loops of a controller that the cluster runs; ok is false if it
// runs none of that name. A controller that is restarted gets new ones.
func (c *Cluster) ControllerLoops(name string) (loops []ControllerLoop, ok bool) {
	m := c.manager.Load()
	if m == nil {
		return nil, false
	}
	return m.Loops(name)
}

// serveOwn serves the paths beneath /minikcm/v1 that the apiserver does not: an Info at
// /minikcm/v1, its OpenAPI document at /openapi.json, the states of the controllers as a JSON
// array at /controllers, the debug information of a controller at /controllers/NAME/debug, and
// explanations at /why. Extensions serve the rest.
func (c *Cluster) serveOwn(w http.ResponseWriter, r *http.Request) {
	if c.serveExtension(w, r) {
		return
	}
	if r.Method != http.MethodGet {
		http.Error(w, "only GET is served here", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case ownPath:
		c.serveInfo(w)
		return
	case openAPIPath:
		serveOpenAPI(w)
		return
	case whyPath:
		c.serveWhy(w, r)
		return
	}
	m := c.manager.Load()
	if m == nil {
		http.Error(w, "the controllers have not started yet", http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == controllersPath {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m.Status()) // fails only if the client is gone
		return
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, controllersPath+"/"), "/")
	if rest == "debug" && strings.HasPrefix(r.URL.Path, controllersPath+"/") {
		if handler := m.Debug(name); handler != nil {
			handler.ServeHTTP(w, r)
			return
		}
	}
	http.NotFound(w, r)
}
