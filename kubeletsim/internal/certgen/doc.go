// Package certgen is the program minikcm-certgen of simulated containers. It does what the Jobs do
// with which charts make the certificates of their webhooks: "create" stores a certificate in a
// Secret, and "patch" writes its authority into webhook configurations, CustomResourceDefinitions
// and APIServices. Its arguments are those that such charts pass, so that an image profile whose
// entrypoint is the program is all that is needed. It acts through a client of the caller, which
// should have the permissions of the pod's service account. Keys come from the machine's random
// source.
package certgen
