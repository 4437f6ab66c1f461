// Package access records what upstream's RBAC and Node authorizers answer to many requests. The tests
// of apiserver/internal/rbac and apiserver/internal/nodeauthorizer compare the answers of their authorizers with the
// recordings.
package access
