// Package tainteviction is the taint-eviction-controller: it deletes the pods that do not
// tolerate a NoExecute taint of their node, at once or after their tolerationSeconds, and
// cancels the deletion if the taint is removed before.
//
// As upstream, a pod's time begins when the controller first observes it on the tainted
// node. The pure package decide decides about a pod.
package tainteviction
