// Package eviction decides what a kubelet does when its node runs short of memory, ephemeral
// storage or process IDs, by the rules of upstream's kubelet (the documentation's page
// "Node-pressure Eviction"): which thresholds are met, the conditions that follow, which pod is
// evicted and with which message, and which container the kernel kills when the memory is
// exhausted. All functions are pure.
//
// A Node is what the pods on a node use over time (usage.Demand). Step takes one look at it, as a
// kubelet does every Interval, and Next predicts which look is the first to matter. So nothing
// runs between two looks that matter, and nothing at all on a node that cannot run short.
package eviction
