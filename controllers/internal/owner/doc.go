// Package owner is the frame of the controllers that keep the dependents of an object, its
// owner, as the owner asks for: a ReplicaSet's pods, a CronJob's Jobs. The frame gets the
// owner, waits until the caches show the controller's own writes, and runs the controller's
// three steps: gather a snapshot from the caches, decide on it (a pure function that returns
// a plan), and execute the plan. A controller never decides on a snapshot that lacks one of
// its own writes for the owner.
package owner
