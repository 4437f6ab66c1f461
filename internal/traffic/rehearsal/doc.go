// Package rehearsal computes traffic in a world that changes: its routes ask where their requests lead after each change, and the requests
// until then are computed for the world as it was.
package rehearsal
