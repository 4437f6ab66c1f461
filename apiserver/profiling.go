package apiserver

import (
	"net/http"
	"net/http/pprof"

	"github.com/gorilla/mux"
)

// routeProfiling serves the profiles of the process, as upstream's default of
// --profiling; only cluster administrators may read them.
func routeProfiling(router *mux.Router) {
	for path, serve := range map[string]http.HandlerFunc{
		"/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol":  pprof.Symbol,
		"/debug/pprof/trace":   pprof.Trace,
	} {
		router.HandleFunc(path, serve)
	}
	router.Handle("/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound))
	router.PathPrefix("/debug/pprof/").HandlerFunc(pprof.Index)
}
