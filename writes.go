package minikcm

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/record"
	"minikcm.dev/minikcm/apiserver/resources"
)

// Write is the record of one revision, Effect what it did to its object, and Change a
// field that it changed.
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

// Explanation explains the state of the object that a Query names.
type (
	Explanation = record.Explanation
	Query       = record.Query
)

// Explain follows the causes of an object's writes back to the first one. forgotten is the
// number of writes that the record has dropped. The error is a *record.NeverWrittenError
// if none of the writes is about the object.
func Explain(writes []Write, forgotten int64, query Query) (*Explanation, error) {
	return record.Explain(writes, forgotten, query)
}

// Writes returns the write record.
func (c *Cluster) Writes() *record.Log { return c.server.Writes() }

// OfShortName returns the built-in resource with a short name, such as pods for po.
func OfShortName(name string) (gr schema.GroupResource, ok bool) {
	for _, row := range resources.Builtin().All() {
		if slices.Contains(row.ShortNames, name) {
			return row.GroupResource(), true
		}
	}
	return schema.GroupResource{}, false
}
