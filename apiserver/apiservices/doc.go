// Package apiservices is the kind APIService (apiregistration.k8s.io/v1): its row, its
// rules, and which APIServices a server has for what it serves itself, with the
// priorities that upstream's has.
package apiservices
