// Package policy has the roles and bindings that every cluster has: for users, for the
// components, for each controller, and for the leases and tokens in system namespaces
// (Kubernetes documentation, "Using RBAC Authorization: Default roles and role bindings"). The
// tables are upstream's of 1.37; test/conformance compares them.
package policy
