// Package decide decides the next write that binds a claim to a volume, or that brings a
// volume to its phase (Kubernetes documentation, "Persistent Volumes"). A decision is at most
// one write. It depends on the stored state alone, so a binding that was interrupted
// continues with the step that is missing. The package does not change its arguments.
//
//minikcm:pure
package decide
