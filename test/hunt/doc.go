// Package hunt tests package minikcm.dev/minikcm/hunt as an operator's author meets it: project is laid out as kubebuilder does it,
// with a hunt among its tests. The test plants a bug in it, and repairs the bug.
//
// Published mistakes of operators and of Kubernetes are small operators here, each with the mistake and without it. With -score, they
// are hunted, for the table of docs/hunt.md.
package hunt
