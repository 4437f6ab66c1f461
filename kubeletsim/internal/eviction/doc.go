// Package eviction decides what a kubelet does when its node runs short of memory, ephemeral
// storage or process IDs, by the rules of upstream's kubelet (the documentation's page
// "Node-pressure Eviction"): which thresholds are met, the conditions that follow, which pod is
// evicted and with which message, and which container the kernel kills when the memory is
// exhausted. It also evicts pods that store more than their own limits allow, and decides which
// unused images are removed from a disk that is nearly full (the page "Garbage Collection"). All
// functions are pure.
//
// A Node holds the images on a node and the pods with their usage over time (usage.Demand). Step takes
// one look at it, as a kubelet does every Interval, Collect checks the disk for images to remove, as
// it does every CollectionInterval, and Next predicts which of them is the first to matter. So nothing
// runs between two looks that matter, and nothing at all on a node that cannot run short.
//
//minikcm:pure
package eviction
