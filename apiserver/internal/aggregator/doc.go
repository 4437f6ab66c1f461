// Package aggregator serves the API versions of other servers, which APIServices refer to
// (Kubernetes documentation, "Kubernetes API Aggregation Layer"): it checks that they are
// available, merges their discovery and OpenAPI documents, and passes requests on, with the
// user in the headers of an authenticating proxy. The newest APIServices apply to every
// request. Without an APIService that refers to a Service, a request costs a comparison.
package aggregator
