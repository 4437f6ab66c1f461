package minikcm

import "minikcm.dev/minikcm/apiserver/record"

// Write is one revision: who wrote what, when, and why.
type Write = record.Write

// Writes is the record of who wrote what, and why.
func (c *Cluster) Writes() *record.Log { return c.server.Writes() }
