// Package certgen is the program minikcm-certgen of simulated containers. It replaces the programs
// with which charts' Jobs make the certificates of webhooks: "create" stores a certificate in a
// Secret, and "patch" writes its authority into webhook configurations, CustomResourceDefinitions
// and APIServices. It takes the same arguments, so that an image profile with the program as its
// entrypoint suffices. It acts through a client of the caller, which should have the permissions of
// the pod's service account. Keys come from the machine's random source.
package certgen
