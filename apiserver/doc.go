// Package apiserver serves the Kubernetes API over the table of resources: one handler
// chain for requests over HTTPS and from in-process clients over the in-memory
// transport. Package verbs serves the verbs; this package wires it to authentication, limits,
// fault rules, admission, the served kinds, and the packages that serve single kinds.
// Every error response is a metav1.Status. Every write gets the cluster's time and is
// recorded with its actor and causes.
package apiserver
