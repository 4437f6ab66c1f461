// Package apiserver serves the Kubernetes API over the table of resources: one handler
// chain for requests over HTTPS and from in-process clients over the in-memory
// transport. Each verb has its own file, and no verb depends on the name of a kind.
// Every error response is a metav1.Status. Every write gets the cluster's time and is
// recorded with its actor and causes.
package apiserver
