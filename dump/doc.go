// Package dump loads what a real cluster holds into one of minikcm's. A Dump is objects as
// "kubectl get -A -o yaml" prints them, read from files (Read) or by list calls from a
// cluster (FromCluster). Load creates them through the API, in an order in which every
// object finds what it needs, with owner references to the new UIDs and the statuses that
// the simulation goes on from. A Summary says what was loaded and, object by object, what
// was left out, changed or refused, and why.
//
// Load is meant for a cluster whose controllers do not act meanwhile: they have not been
// started, or they wait for their turn in virtual time. Then pods stay on their nodes with
// their names, controllers adopt what is theirs, and no rollout starts. For any other
// cluster there is Options.RootsOnly.
package dump
