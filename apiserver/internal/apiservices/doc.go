// Package apiservices has the kind APIService (apiregistration.k8s.io/v1): its row, its
// validation, and the APIServices that a server creates for the versions that it serves
// itself, with upstream's priorities.
package apiservices
