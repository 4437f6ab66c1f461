package apiserver

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/openapi"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/storage"
)

// servedAPI is the API served at one moment: the built-in and the custom kinds. It is
// immutable and replaced when a definition changes.
type servedAPI struct {
	table *resources.Table
	docs  *openapi.Documents
	// custom maps a row to its custom kind.
	custom map[*resources.Resource]*customKind
}

// current returns the API that is served now.
func (s *Server) current() *servedAPI { return s.served.Load() }

// publish replaces the served API by one with these custom kinds in addition to the
// built-in ones.
func (s *Server) publish(kinds []*customKind) {
	next := &servedAPI{custom: map[*resources.Resource]*customKind{}}
	var rows []*resources.Resource
	for _, kind := range kinds {
		for _, row := range kind.rows.Served {
			rows = append(rows, row)
			next.custom[row] = kind
		}
	}
	next.table = s.table.With(rows...)
	if before := s.served.Load(); before != nil {
		next.docs = before.docs.With(next.table)
	} else {
		next.docs = openapi.New(next.table, s.opts.KubeVersion)
	}
	s.served.Store(next)
	s.registrar.Load().wake()
}

// servedResource is a row with the storage of its objects.
type servedResource struct {
	row     *resources.Resource
	objects *storage.Objects
	// leave must be called when the request has been served.
	leave func()
}

// find looks up a resource and enters the gate of its custom kind: a kind that has been
// replaced is closed once its gate is empty. Watches do not enter, because closing the
// kind ends them.
func (s *Server) find(gvr schema.GroupVersionResource, watch bool) servedResource {
	for {
		now := s.current()
		row := now.table.Lookup(gvr)
		if row == nil {
			return servedResource{leave: func() {}}
		}
		kind := now.custom[row]
		switch {
		case kind == nil:
			return servedResource{row, s.objects(row), func() {}}
		case watch:
			return servedResource{row, kind.objectsOf(row), func() {}}
		case kind.requests.enter():
			return servedResource{row, kind.objectsOf(row), kind.requests.leave}
		}
		// The gate is shut: a newer API has been published. Look up again.
	}
}

func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	s.current().docs.ServeHTTP(w, r)
}
