// Package podset has the part of an account of pods (package tally) that is the same for
// every owner with a selector: which of its pods the owner selects, which it releases, and
// which orphans it adopts, by the rules of package controllerref. What the selected pods add
// up to is the controller's own. It depends on its arguments alone.
//
//minikcm:pure
package podset
