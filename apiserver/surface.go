package apiserver

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/openapi"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/storage"
)

// surface is what the server serves at a moment: the built-in kinds and the custom
// ones. It is never changed, but replaced when a definition changes.
type surface struct {
	table *resources.Table
	docs  *openapi.Documents
	// custom finds the custom kind behind a row of the table.
	custom map[*resources.Resource]*customKind
}

// current is what is served now.
func (s *Server) current() *surface { return s.surface.Load() }

// publish adds custom kinds to the built-in ones.
func (s *Server) publish(kinds []*customKind) {
	next := &surface{custom: map[*resources.Resource]*customKind{}}
	var rows []*resources.Resource
	for _, kind := range kinds {
		for _, row := range kind.rows.Served {
			rows = append(rows, row)
			next.custom[row] = kind
		}
	}
	next.table = s.table.With(rows...)
	if before := s.surface.Load(); before != nil {
		next.docs = before.docs.With(next.table)
	} else {
		next.docs = openapi.New(next.table, s.opts.KubeVersion)
	}
	s.surface.Store(next)
	s.registrar.Load().wake()
}

// served is a row that was found, and what its objects are kept in.
type served struct {
	row     *resources.Resource
	objects *storage.Objects
	// leave tells that the request is over.
	leave func()
}

// find looks up a resource. A custom kind that is about to be replaced waits for the
// requests that are being served by it; watches do not count, they end with it.
func (s *Server) find(gvr schema.GroupVersionResource, watch bool) served {
	for {
		now := s.current()
		row := now.table.Lookup(gvr)
		if row == nil {
			return served{leave: func() {}}
		}
		kind := now.custom[row]
		switch {
		case kind == nil:
			return served{row, s.objects(row), func() {}}
		case watch:
			return served{row, kind.objectsOf(row), func() {}}
		case kind.requests.enter():
			return served{row, kind.objectsOf(row), kind.requests.leave}
		}
		// Another surface has been published since.
	}
}

func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	s.current().docs.ServeHTTP(w, r)
}
