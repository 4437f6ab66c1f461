// Package runner runs a command of this machine in place of one pod of a Deployment. The command
// starts with a run of the pod's container and is stopped at its end, and when it exits by itself,
// the container ends with its exit code, so that the kubelet decides when it is started again. It
// gets the container's environment, the content of its volumes as files, and the credentials of
// its service account; the Services that select the pod lead to it. When Run returns, the cluster
// is as it was before, apart from the container's restarts.
package runner
