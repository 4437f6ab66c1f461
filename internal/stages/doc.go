// Package stages reads kwok's Stage manifests (kwok.x-k8s.io/v1alpha1) and decides what they do
// with an object: which Stage applies, after what delay, and which writes it then makes. It is
// pure: time, chance and addresses are arguments, and package stagerunner does the waiting and
// the writing.
//
// It follows https://kwok.sigs.k8s.io/docs/user/stages-configuration/. A manifest, an expression
// and a template each have a budget of bytes, steps and output, so that none of them holds up the
// process: exceeding it is an error of that Stage.
//
//minikcm:pure
package stages
