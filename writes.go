package minikcm

import "minikcm.dev/minikcm/apiserver/record"

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

// Writes is the record of who wrote what, and why.
func (c *Cluster) Writes() *record.Log { return c.server.Writes() }
