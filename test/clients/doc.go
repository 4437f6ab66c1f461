// Package clients tests unmodified Kubernetes clients against a built minikcm: an operator
// with controller-runtime, envtest, helm, kubectl, and tools that generate clients from the
// OpenAPI documents. The operator also runs in memory, with the latest controller-runtime. The
// package is a separate module, so that the clients' dependencies are not minikcm's.
package clients
