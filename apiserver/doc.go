// Package apiserver serves the Kubernetes API over the table of resources: one
// handler chain for requests that come over HTTPS and for in-process clients
// that come over the in-memory transport. A verb is a file; no verb knows a kind
// by name. Every error that a client gets is a metav1.Status, every write is
// stamped with the cluster's clock and recorded with its actor and causes.
package apiserver
