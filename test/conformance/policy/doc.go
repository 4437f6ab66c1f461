// Package policy records the roles and bindings that upstream's API server creates. The tests
// of apiserver/internal/rbac/policy compare its tables with the recording.
package policy
