// Package flow applies API Priority and Fairness (KEP-1040) to the requests from the network:
// FlowSchemas classify them, and the seats of their PriorityLevelConfiguration limit how
// many are served at once. The others wait in fair queues, or are rejected with 429 and
// Retry-After. A list occupies seats by the number and size of the objects it reads, a
// watch only while its initial events are sent, a write until its watchers have the event.
// Requests of the priority level exempt, by default the requests of system:masters, do not
// wait. The algorithm is upstream's (k8s.io/apiserver, pkg/util/flowcontrol); this package
// connects it to the server. It uses real time, as everything on sockets.
package flow
