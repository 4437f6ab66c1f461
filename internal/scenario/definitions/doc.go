// Package definitions makes custom kinds known to a cluster, for the controllers that this
// program runs beside scenarios.
package definitions
