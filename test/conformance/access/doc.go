// Package access records what upstream's RBAC authorizer answers to many requests. The tests
// of apiserver/rbac compare the answers of its authorizer with the recording.
package access
