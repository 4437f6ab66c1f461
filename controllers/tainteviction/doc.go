// Package tainteviction is the taint-eviction-controller: it deletes the pods that do
// not tolerate a NoExecute taint of their node, at once or when their
// tolerationSeconds are over, and leaves them when the taint goes before.
//
// A pod's time runs from when the controller first saw it on the tainted node, as
// upstream's does. What is to be done about a pod is a pure function (decide.go).
package tainteviction
