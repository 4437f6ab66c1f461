// Package history decides on the ControllerRevisions of a workload: one for each template
// that it has had, numbered in the order in which the templates came into force. It decides
// which revision is the current one, which writes make it so, and which old ones to delete.
// StatefulSets and DaemonSets share it. A revision holds the patch that kubectl
// applies to roll back to it.
//
//minikcm:pure
package history
