package minikcm

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/writerecord"
)

// WriteLog is the write record of a cluster: its newest writes, and the requests that were refused.
type WriteLog = writerecord.Log

// Write is the record of one revision.
type Write = writerecord.Write

// Effect is the effect of a Write on its object.
type Effect = writerecord.Effect

// The effects of writes.
const (
	Created = writerecord.Created
	Changed = writerecord.Changed
	Removed = writerecord.Removed
)

// Change is a field that a Write changed.
type Change = writerecord.Change

// Refusal counts requests that were refused.
type Refusal = writerecord.Refusal

// Explanation explains the state of the object that a Query names.
type Explanation = writerecord.Explanation

// Link is a Write and its causes.
type Link = writerecord.Link

// Query identifies an object.
type Query = writerecord.Query

// NeverWrittenError is the error of Explain and Cluster.Why for an object that the record has no write of.
type NeverWrittenError = writerecord.NeverWrittenError

// Explain follows the causes of an object's writes back to the first one. forgotten is the
// number of writes that the record has dropped. The error is a *NeverWrittenError
// if none of the writes is about the object.
func Explain(writes []Write, forgotten int64, query Query) (*Explanation, error) {
	return writerecord.Explain(writes, forgotten, query)
}

// Writes returns the write record.
func (c *Cluster) Writes() *WriteLog { return c.server.Writes() }

// ResourceForShortName returns the built-in resource with a short name, such as pods for po.
func ResourceForShortName(name string) (gr schema.GroupResource, ok bool) {
	for _, row := range apiserver.BuiltinResources().All() {
		if slices.Contains(row.ShortNames, name) {
			return row.GroupResource(), true
		}
	}
	return schema.GroupResource{}, false
}
