package apiserver

import (
	"net/http"

	"github.com/gorilla/mux"

	"minikcm.dev/minikcm/apiserver/internal/response"
)

// routeFlowDumps serves the state of API Priority and Fairness in upstream's format: a line
// for each priority level, queue or request. Without limits of requests, the paths do not exist.
func (s *Server) routeFlowDumps(router *mux.Router) {
	for _, path := range []string{"dump_priority_levels", "dump_queues", "dump_requests"} {
		router.HandleFunc("/debug/api_priority_and_fairness/"+path, func(w http.ResponseWriter, r *http.Request) {
			if control := s.flow.Load(); control != nil {
				control.Dump(w, r)
				return
			}
			response.NoRoute(w)
		})
	}
}
