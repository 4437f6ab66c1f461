// Package hooks runs the user's own admission code: webhooks (Kubernetes documentation,
// "Dynamic Admission Control") and policies in CEL (ValidatingAdmissionPolicy,
// KEP-3488; MutatingAdmissionPolicy, KEP-3962). k8s.io/apiserver's plugins implement
// them; this package connects them to the server's kinds, objects and users. They read
// webhooks, policies and parameters from the server's caches in each request, not by
// watches, so that a write applies to all requests after its response. Nothing is started
// before the first configuration exists.
package hooks
