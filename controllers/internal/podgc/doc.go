// Package podgc is the pod-garbage-collector-controller: it deletes pods that no other
// component will delete, and marks those Failed that had not ended. These are
//
//   - pods bound to a node that does not exist, 40 s after its deletion was observed and
//     once the API has confirmed it;
//   - deleted pods that were never bound to a node;
//   - deleted pods on a node that is not ready and out of service;
//   - of the ended pods, the oldest beyond 12,500.
//
// garbage.go says which these are, and indices find them: no event scans all pods.
package podgc
