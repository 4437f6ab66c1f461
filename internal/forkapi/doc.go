// Package forkapi serves forks of a running cluster at /minikcm/v1/forks: clusters in the same
// process that begin with the objects of one revision, and go on by themselves, with a virtual
// clock, a kubeconfig and a live page of their own. POST makes one, DELETE ends it, and all end
// with the cluster. Beneath each are its clock, which is controlled as the cluster's own, and its
// comparison with the cluster.
package forkapi
