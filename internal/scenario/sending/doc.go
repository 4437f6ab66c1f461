// Package sending sends the traffic of rehearsals in a cluster of this process, and judges it by its objectives.
package sending
