// Package podgc is the pod-garbage-collector-controller: it removes pods that nobody
// else will ever remove, and marks those Failed that had not ended. These are
//
//   - pods bound to a node that does not exist, 40 s after that was noticed and once the
//     API has confirmed it;
//   - deleted pods that were never bound to a node;
//   - deleted pods on a node that is not ready and out of service;
//   - of the pods that have ended, the oldest beyond 12,500.
//
// Which these are is decided by pure functions (decide.go), and found by indices: no
// event looks at all pods.
package podgc
