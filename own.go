package minikcm

import (
	"encoding/json"
	"net/http"
	"strings"

	"minikcm.dev/minikcm/controllers/manager"
)

// controllersPath is where the state of the cluster's controllers is served.
const controllersPath = ownPath + "/controllers"

// Controllers returns what the cluster's controllers are doing, those that it does
// not run included.
func (c *Cluster) Controllers() []manager.Status {
	m := c.manager.Load()
	if m == nil {
		return nil
	}
	return m.Status()
}

// serveOwn serves what the apiserver does not know of: GET /minikcm/v1 is an Info,
// /minikcm/v1/controllers a JSON array of the controllers' states, /minikcm/v1/why
// explains an object, and what a controller has to show for itself is at
// /minikcm/v1/controllers/NAME/debug. Extensions serve the rest.
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
	case whyPath:
		c.serveWhy(w, r)
		return
	}
	m := c.manager.Load()
	if m == nil {
		http.Error(w, "the controllers have not been made yet", http.StatusServiceUnavailable)
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
