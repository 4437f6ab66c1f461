// Package hooks runs the user's own admission code: webhooks (Kubernetes documentation,
// "Dynamic Admission Control") and policies in CEL (ValidatingAdmissionPolicy,
// KEP-3488; MutatingAdmissionPolicy, KEP-3962). k8s.io/apiserver's plugins implement
// them; this package connects them to the server's kinds, clients and users. Nothing is
// started before the first configuration exists.
package hooks
