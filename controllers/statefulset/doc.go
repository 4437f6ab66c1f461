// Package statefulset is the statefulset-controller: pods with a name, a place in
// an order and claims of their own, of which there never are two at a time; their
// updates, one after the other or as many at once as may be unavailable; and the
// fate of their claims. What is to be done is decided by the pure function Decide;
// the controller gathers its snapshot and executes its plan.
package statefulset
