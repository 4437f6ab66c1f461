// Package clients tries clients of Kubernetes, unmodified, against a built minikcm:
// an operator on controller-runtime, envtest, helm, kubectl, and the tools that
// generate clients from the OpenAPI documents. The operator also runs in memory, on the
// newest controller-runtime. It is a module of its own, so that their dependencies are
// none of the product's.
package clients
