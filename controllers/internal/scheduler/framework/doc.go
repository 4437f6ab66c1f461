// Package framework has the data that scheduling decisions are made on: pods, nodes and the
// snapshot of all nodes, with the numbers of pods by node that spread constraints and pod
// affinity need. It is pure. PodInfo, NodeInfo, PodSet and Resource are immutable; a Snapshot
// belongs to one goroutine, and its counts follow every pod that is added or removed, so that
// no decision iterates over pods.
//
//minikcm:pure
package framework
