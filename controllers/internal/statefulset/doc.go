// Package statefulset is the statefulset-controller: it keeps pods that each have a stable
// name, an ordinal and claims of their own, and never two pods of the same name. It updates
// them one after the other or up to maxUnavailable at once, and applies the retention
// policy to their claims. The pure package decide decides; the controller gathers its
// snapshot and executes its plan.
package statefulset
