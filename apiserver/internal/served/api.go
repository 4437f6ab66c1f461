package served

import (
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/openapi"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
)

// API is the API served at one moment: the built-in and the custom kinds. It is
// immutable and replaced when a definition changes.
type API struct {
	Table *resources.Table
	Docs  *openapi.Documents
	// custom maps a row to its custom kind.
	custom map[*resources.Resource]*customKind
}

// Current returns the API that is served now.
func (d *Definitions) Current() *API { return d.current.Load() }

// publish replaces the served API by one with these custom kinds in addition to the
// built-in ones.
func (d *Definitions) publish(kinds []*customKind) {
	next := &API{custom: map[*resources.Resource]*customKind{}}
	var rows []*resources.Resource
	for _, kind := range kinds {
		for _, row := range kind.rows.Served {
			rows = append(rows, row)
			next.custom[row] = kind
		}
	}
	next.Table = d.opts.BuiltIn.With(rows...)
	if before := d.current.Load(); before != nil {
		next.Docs = before.Docs.With(next.Table)
	} else {
		next.Docs = openapi.New(next.Table, d.opts.KubeVersion)
	}
	d.current.Store(next)
}

// Resource is a row with the storage of its objects.
type Resource struct {
	Row     *resources.Resource
	Objects *storage.Objects
	// Leave must be called when the request has been served.
	Leave func()
}

// Find looks up a resource and enters the gate of its custom kind: a kind that has been
// replaced is closed once its gate is empty. Watches do not enter, because closing the
// kind ends them.
func (d *Definitions) Find(gvr schema.GroupVersionResource, watch bool) Resource {
	for {
		now := d.Current()
		row := now.Table.Lookup(gvr)
		if row == nil {
			return Resource{Leave: func() {}}
		}
		kind := now.custom[row]
		switch {
		case kind == nil:
			return Resource{row, d.opts.Objects(row), func() {}}
		case watch:
			return Resource{row, kind.objectsOf(row), func() {}}
		case kind.requests.Enter():
			return Resource{row, kind.objectsOf(row), kind.requests.Leave}
		}
		// The gate is shut: a newer API has been published. Look up again.
	}
}

// IsCustom reports whether a row is of a custom kind.
func (now *API) IsCustom(row *resources.Resource) bool { return now.custom[row] != nil }

// IsTerminating reports whether the definition of a row is being deleted.
func (now *API) IsTerminating(row *resources.Resource) bool {
	kind := now.custom[row]
	return kind != nil && kind.terminating.Load()
}

// Stored yields one row per stored kind, with its storage. builtIn has the storage of the
// built-in kinds.
func (now *API) Stored(builtIn map[schema.GroupVersionResource]*storage.Objects) iter.Seq2[*resources.Resource, *storage.Objects] {
	return func(yield func(*resources.Resource, *storage.Objects) bool) {
		for _, row := range now.Table.All() {
			objects := builtIn[row.GVR()]
			if kind := now.custom[row]; kind != nil && row == kind.rows.Served[0] {
				row, objects = kind.rows.Stored, kind.objects
			}
			if objects != nil && !yield(row, objects) {
				return
			}
		}
	}
}
