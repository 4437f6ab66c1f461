// Package openapi serves the description of the API: the OpenAPI v3 documents beneath
// /openapi/v3, one for each group and version, and the OpenAPI v2 document at
// /openapi/v2. It derives the schemas from the Go types of k8s.io/api by reflection,
// with the types' documentation and the markers of their source (markers.txt); the
// paths come from the table of resources. Each document is built when it is first
// requested.
package openapi

//go:generate go run ./internal/markergen -out markers.txt
