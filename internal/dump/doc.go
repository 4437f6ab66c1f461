// Package dump loads the objects of a real cluster into a minikcm cluster. A Dump contains
// objects as "kubectl get -A -o yaml" prints them, read from files (Read) or by list requests
// from a cluster (FromCluster). Load creates them through the API, in an order in which every
// object finds the objects that it needs, with owner references to the new UIDs and with
// their statuses, from which the simulation continues. A Summary lists what was loaded, and
// the objects that were left out, changed or refused, with the reasons.
//
// Load is meant for a cluster whose controllers do not act meanwhile, because they have not
// started or wait for their turn in virtual time. Then pods keep their nodes and names,
// controllers adopt their objects, and no rollout starts. For any other cluster, use
// Options.RootsOnly.
package dump
