// Package rbac authorizes requests by Roles, ClusterRoles and their bindings
// (rbac.authorization.k8s.io/v1), with upstream's decisions, reasons and errors. A
// decision includes every write of this process that came before it: the index of rules by
// subject is brought up to date when one of the four kinds has changed. Escalation keeps
// users from granting what they may not do themselves. Package policy has the roles and
// bindings that every cluster has.
package rbac
