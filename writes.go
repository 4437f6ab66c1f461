package minikcm

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/writerecord"
)

// Write is one revision: who wrote what, when, and why. Effect is what it did to its
// object, and Change a field that became different.
type (
	Write  = writerecord.Write
	Effect = writerecord.Effect
	Change = writerecord.Change
)

// The effects of writes.
const (
	Created = writerecord.Created
	Changed = writerecord.Changed
	Removed = writerecord.Removed
)

// Explanation is why an object is as it is, and Query names the object.
type (
	Explanation = writerecord.Explanation
	Query       = writerecord.Query
)

// Explain follows the causes of an object's writes back to where they began. writes
// is a record, forgotten how many of its writes are missing. It is an error if none of
// them is about the object.
func Explain(writes []Write, forgotten int64, query Query) (*Explanation, error) {
	return writerecord.Explain(writes, forgotten, query)
}

// Writes is the record of who wrote what, and why.
func (c *Cluster) Writes() *writerecord.Log { return c.server.Writes() }

// OfShortName is the built-in resource that kubectl takes name for, as pods for po.
func OfShortName(name string) (gr schema.GroupResource, ok bool) {
	for _, row := range resources.Builtin().All() {
		if slices.Contains(row.ShortNames, name) {
			return row.GroupResource(), true
		}
	}
	return schema.GroupResource{}, false
}
