// Package nodes simulates machines: what each one has and reports, which pods it admits, and
// the addresses and host ports that these take. A Table holds the nodes of a cluster and
// hands out their ranges of pod addresses, so that no two nodes share one.
//
// A Node holds its state behind a lock and writes nothing to the API. Its status and
// conditions are computed from the Node object and that state (Status, Object); package
// kubeletsim writes them and renews leases. The faults of a machine (Stop, Hang, SetSlow,
// SetSkew, SetCondition) are state too, which the computed status follows.
package nodes
