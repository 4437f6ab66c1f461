package resources

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"minikcm.dev/minikcm/internal/releases"
)

// AllVerbs are the verbs of a row without Verbs, in discovery's order.
var AllVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// StatusVerbs are the verbs of the status and scale subresources.
var StatusVerbs = []string{"get", "patch", "update"}

// Table holds rows in the order of discovery. It is immutable and safe for concurrent
// use; With returns an extended one.
type Table struct {
	rows []*Resource
	// shown are the rows that are not hidden.
	shown  []*Resource
	byGVR  map[schema.GroupVersionResource]*Resource
	byGVK  map[schema.GroupVersionKind]*Resource
	groups []Group
	// lacks are fields that the emulated release does not have.
	lacks map[releases.Field]bool
}

// Group is an API group as in discovery.
type Group struct {
	Name string
	// Versions are in order of preference.
	Versions []string
}

// PreferredVersion returns the version that clients should use.
func (g Group) PreferredVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: g.Name, Version: g.Versions[0]}
}

// NewTable returns a table of rows, whose empty fields it sets to their defaults. It
// takes ownership of the rows. If two rows have the same resource or kind, the first
// takes precedence.
func NewTable(rows ...*Resource) *Table {
	return (&Table{}).With(rows...)
}

// With returns a table with additional rows. It does not modify t.
func (t *Table) With(rows ...*Resource) *Table {
	n := len(t.rows) + len(rows)
	longer := &Table{
		rows:  make([]*Resource, 0, n),
		byGVR: make(map[schema.GroupVersionResource]*Resource, n),
		byGVK: make(map[schema.GroupVersionKind]*Resource, n),
		lacks: t.lacks,
	}
	longer.rows = append(append(longer.rows, t.rows...), rows...)
	for _, row := range rows {
		row.complete()
	}
	slices.SortStableFunc(longer.rows, compareRows)
	for _, row := range longer.rows {
		if _, taken := longer.byGVR[row.GVR()]; !taken {
			longer.byGVR[row.GVR()] = row
		}
		if _, taken := longer.byGVK[row.GroupVersionKind]; !taken {
			longer.byGVK[row.GroupVersionKind] = row
		}
		if !row.Hidden {
			longer.addVersion(row.Group, row.Version)
			longer.shown = append(longer.shown, row)
		}
	}
	return longer
}

// addVersion requires that the rows are sorted by group and version.
func (t *Table) addVersion(group, version string) {
	if last := len(t.groups) - 1; last >= 0 && t.groups[last].Name == group {
		if g := &t.groups[last]; g.Versions[len(g.Versions)-1] != version {
			g.Versions = append(g.Versions, version)
		}
		return
	}
	t.groups = append(t.groups, Group{Name: group, Versions: []string{version}})
}

// All returns all rows, by group, version and name, hidden ones too. The slice is shared and
// must not be modified.
func (t *Table) All() []*Resource { return t.rows }

// Shown returns the rows that are not hidden, in the same order. The slice is shared and must not
// be modified.
func (t *Table) Shown() []*Resource { return t.shown }

// Lacks reports whether the emulated release does not have a field of a type, which has the name of
// its OpenAPI definition without "io.k8s.".
func (t *Table) Lacks(definition, field string) bool {
	return t.lacks[releases.Field{Type: definition, Name: field}]
}

// Lookup returns the row of a resource, hidden or not, or nil.
func (t *Table) Lookup(gvr schema.GroupVersionResource) *Resource { return t.byGVR[gvr] }

// ByKind returns the row of a kind, or nil.
func (t *Table) ByKind(gvk schema.GroupVersionKind) *Resource { return t.byGVK[gvk] }

// Groups returns the groups in discovery's order, the core group ("") first. The slice
// is shared and must not be modified.
func (t *Table) Groups() []Group { return t.groups }

// InVersion returns the rows of one group and version that are not hidden, by name. The slice is shared and
// must not be modified.
func (t *Table) InVersion(gv schema.GroupVersion) []*Resource {
	start := slices.IndexFunc(t.shown, func(r *Resource) bool { return r.GroupVersion() == gv })
	if start < 0 {
		return nil
	}
	end := start
	for end < len(t.shown) && t.shown[end].GroupVersion() == gv {
		end++
	}
	return t.shown[start:end:end]
}

// complete sets the defaults that the comments of Resource describe.
func (r *Resource) complete() {
	if r.Singular == "" {
		r.Singular = strings.ToLower(r.Kind)
	}
	if r.ListKind == "" {
		r.ListKind = r.Kind + "List"
	}
	if r.Verbs == nil && r.Custom {
		r.Verbs = customVerbs
	}
	if r.Verbs == nil {
		r.Verbs = AllVerbs
	}
	if r.StoragePrefix == "" {
		r.StoragePrefix = r.Plural
	}
}

// customVerbs are AllVerbs in upstream's order for custom kinds.
var customVerbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}

// groupOrder is upstream's order of groups: by descending priority of their
// APIServices. Other groups follow by name.
var groupOrder = []string{
	"", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
	"autoscaling", "batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io",
	"storage.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io",
	"coordination.k8s.io", "node.k8s.io", "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io",
}

func compareRows(a, b *Resource) int {
	if a.Group != b.Group {
		return compareGroups(a.Group, b.Group)
	}
	if a.Version != b.Version {
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	}
	return strings.Compare(a.Plural, b.Plural)
}

func compareGroups(a, b string) int {
	i, j := slices.Index(groupOrder, a), slices.Index(groupOrder, b)
	switch {
	case i < 0 && j < 0:
		return strings.Compare(a, b)
	case i < 0:
		return 1
	case j < 0:
		return -1
	}
	return i - j
}
