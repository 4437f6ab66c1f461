// Package decide decides the next step of a Deployment's rollout: which ReplicaSets to create,
// resize, adopt, release or delete, and the status. It guarantees that the pods that exist stay
// within maxSurge and maxUnavailable, because it does not rely on a ReplicaSet whose status is
// older than its spec. It depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
