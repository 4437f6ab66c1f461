package minikcm

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/record"
	"minikcm.dev/minikcm/apiserver/resources"
)

// Write is one revision: who wrote what, when, and why. Effect is what it did to its
// object, and Change a field that became different.
type (
	Write  = record.Write
	Effect = record.Effect
	Change = record.Change
)

// The effects of writes.
const (
	Created = record.Created
	Changed = record.Changed
	Removed = record.Removed
)

// Explanation is why an object is as it is, and Query names the object.
type (
	Explanation = record.Explanation
	Query       = record.Query
)

// Explain follows the causes of an object's writes back to where they began. writes
// is a record, forgotten how many of its writes are missing. It is an error if none of
// them is about the object.
func Explain(writes []Write, forgotten int64, query Query) (*Explanation, error) {
	return record.Explain(writes, forgotten, query)
}

// Writes is the record of who wrote what, and why.
func (c *Cluster) Writes() *record.Log { return c.server.Writes() }

// OfShortName is the built-in resource that kubectl takes name for, as pods for po.
func OfShortName(name string) (gr schema.GroupResource, ok bool) {
	for _, row := range resources.Builtin().All() {
		if slices.Contains(row.ShortNames, name) {
			return row.GroupResource(), true
		}
	}
	return schema.GroupResource{}, false
}
