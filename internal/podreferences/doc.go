// Package podreferences lists the API objects that pods and persistent volumes refer to and that
// a kubelet reads to run a pod. The Node authorizer allows a kubelet these, the NodeRestriction
// plugin allows it no pod with such references, and the cleaner of unused tokens keeps Secrets
// that a pod refers to.
package podreferences
