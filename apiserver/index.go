package apiserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/response"
)

// routeIndex serves the list of paths at /, as upstream: the routes without variables,
// and the served groups and versions.
func (s *Server) routeIndex(router *mux.Router) {
	var fixed []string
	// The function returns no error.
	_ = router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		if err == nil && !strings.Contains(path, "{") && !strings.HasSuffix(path, "/") {
			fixed = append(fixed, path)
		}
		return nil
	})
	fixed = append(fixed, "/api/v1", "/apis/", "/openapi/v2", "/openapi/v3")
	router.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		paths := slices.Clone(fixed)
		for _, g := range s.current().Table.Groups() {
			if g.Name == "" {
				continue
			}
			paths = append(paths, "/apis/"+g.Name)
			for _, version := range g.Versions {
				paths = append(paths, "/apis/"+g.Name+"/"+version)
			}
		}
		slices.Sort(paths)
		data, err := json.MarshalIndent(metav1.RootPaths{Paths: slices.Compact(paths)}, "", "  ")
		if err != nil {
			response.Error(w, r, response.EncodeError(err))
			return
		}
		response.Bytes(w, r, http.StatusOK, "application/json", data)
	})
}
