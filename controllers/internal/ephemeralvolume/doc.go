// Package ephemeralvolume is the ephemeral-volume-controller: it creates the claims of the
// generic ephemeral volumes of pods, which belong to their pods (KEP-1698).
package ephemeralvolume
