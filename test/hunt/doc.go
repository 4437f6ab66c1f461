// Package hunt tests package minikcm.dev/minikcm/hunt as an operator's author meets it: project is laid out as kubebuilder does it,
// with a hunt among its tests. The test plants a bug in it, and repairs the bug.
package hunt
