package minikcm

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/writerecord"
)

// Write is the record of one revision, Effect what it did to its object, and Change a
// field that it changed.
type (
	Write  = writerecord.Write
	Effect = writerecord.Effect
	Change = writerecord.Change
	// Refusal counts requests that were refused.
	Refusal = writerecord.Refusal
)

// The effects of writes.
const (
	Created = writerecord.Created
	Changed = writerecord.Changed
	Removed = writerecord.Removed
)

// Explanation explains the state of the object that a Query names, by Links of writes to their
// causes.
type (
	Explanation = writerecord.Explanation
	Link        = writerecord.Link
	Query       = writerecord.Query
)

// Explain follows the causes of an object's writes back to the first one. forgotten is the
// number of writes that the record has dropped. The error is a *writerecord.NeverWrittenError
// if none of the writes is about the object.
func Explain(writes []Write, forgotten int64, query Query) (*Explanation, error) {
	return writerecord.Explain(writes, forgotten, query)
}

// Writes returns the write record.
func (c *Cluster) Writes() *writerecord.Log { return c.server.Writes() }

// OfShortName returns the built-in resource with a short name, such as pods for po.
func OfShortName(name string) (gr schema.GroupResource, ok bool) {
	for _, row := range apiserver.BuiltinResources().All() {
		if slices.Contains(row.ShortNames, name) {
			return row.GroupResource(), true
		}
	}
	return schema.GroupResource{}, false
}
