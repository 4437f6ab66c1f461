package garbagecollector

import (
	"bytes"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/controllers/internal/garbagecollector/graph"
)

// debug serves the graph in the DOT language (https://graphviz.org/doc/info/lang.html).
// Like upstream's, it shows only objects that have owners or dependents; with the parameter
// uid, which may be repeated, only those that are connected with these objects.
func (c *Controller) debug() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var uids []types.UID
		for _, uid := range r.URL.Query()["uid"] {
			uids = append(uids, types.UID(uid))
		}
		var dot bytes.Buffer
		if err := c.keeper.ask(r.Context(), func(g *graph.Graph) { g.WriteDOT(&dot, uids) }); err != nil {
			http.Error(w, "the garbage collector does not run: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/vnd.graphviz")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(dot.Bytes()) // fails only if the connection is gone
	})
}
