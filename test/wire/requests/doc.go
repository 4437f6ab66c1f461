// Package requests generates the requests of the comparison: for every resource that upstream's
// discovery lists, every verb, subresource, option and media type, and the mistakes that clients
// make with them. Each topic is a file. The cases and their order depend on nothing but the
// discovery and OpenAPI documents and the manifests.
package requests
