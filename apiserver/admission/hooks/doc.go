// Package hooks lets users' own code into admission: webhooks (Kubernetes
// documentation, "Dynamic Admission Control") and policies in CEL
// (ValidatingAdmissionPolicy, KEP-3488; MutatingAdmissionPolicy, KEP-3962). All of it
// is decided by k8s.io/apiserver's plugins; what is here gives them the server's
// kinds, clients and users. Nothing is started before the first configuration exists.
package hooks
