// Package fault is the language of faults: what is broken (pods, nodes, the API server,
// etcd, controllers, clocks), how, when and for how long. Parse reads faults, and Run
// injects one into a cluster: once, for a time, at a rate or on a schedule. The seed chooses
// what is hit. Run takes back what an injection changed when its time is over, and when Run
// is interrupted.
//
// The mechanisms that break things are elsewhere: internal/faults for requests,
// internal/faulty for etcd and kubeletsim for nodes and pods. docs/glossary.md has the words.
package fault
