// Package history keeps the ControllerRevisions of a workload: one for each
// template that it has had, numbered in the order in which they came to be in
// force. It decides which one the current template is, what has to be written for
// that, and which old ones have to go; StatefulSets and DaemonSets share it. What
// a revision holds is the patch that kubectl applies to roll back to it.
package history
