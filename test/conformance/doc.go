// Command conformance starts minikcm, runs the upstream end-to-end suite against it, and
// compares the tests that pass with passing.txt: it fails if a test of that list no longer
// passes. It is a separate module, because nothing else may import k8s.io/kubernetes. "make
// conformance" builds its prerequisites and runs it.
package main
