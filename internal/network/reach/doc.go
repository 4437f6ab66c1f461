// Package reach decides where a connection in a cluster goes: Decide follows it from its source through the name server,
// the Service's rules on the source's node and the NetworkPolicies to the program that listens, or to the error that
// Linux reports in its place, with the reason. It is pure: all that uses the simulated network asks it, and so does the
// command minikcm reach, for a running cluster and for one of which there is only a dump.
//
// A Cluster holds what decisions depend on. It is filled with objects of the API, one change at a time.
//
//minikcm:pure
package reach
