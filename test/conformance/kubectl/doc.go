// Command kubectl runs kubectl's own test suite, the scripts in test/cmd of k8s.io/kubernetes,
// with upstream's kubectl on a minikcm cluster, and compares the groups that pass with a list.
package main
