// Package clients tests unmodified Kubernetes clients against a built minikcm: operators
// with controller-runtime, one of them with webhooks, envtest, helm, kubectl, and tools that generate clients from the
// OpenAPI documents. The first operator also runs in memory, with the latest controller-runtime. The
// package is a separate module, so that the clients' dependencies are not minikcm's.
package clients
