// Command conformance runs the upstream end-to-end suite against a minikcm that it
// starts, and compares what passes with passing.txt: it fails when a test of that
// list does not pass any more. It is a module of its own, since nothing else may
// import k8s.io/kubernetes. "make conformance" builds what it needs and runs it.
package main
