// Package podspec reads the facts of a pod's spec about its containers: their order and kinds, the
// minikcm.dev annotations that describe their behaviour, the environment variables whose values
// follow from the pod alone, and the full names of their images. Its functions are pure and never
// change the pod.
//
//minikcm:pure
package podspec
