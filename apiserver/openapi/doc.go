// Package openapi describes the API to clients: the OpenAPI v3 documents beneath
// /openapi/v3, one for each group and version, and the one OpenAPI v2 document at
// /openapi/v2. The schemas come from the Go types of k8s.io/api by reflection, with
// the types' own documentation and the markers of their source (markers.txt); the
// paths come from the table of resources. Nothing is built before it is first
// asked for.
package openapi

//go:generate go run ./internal/markergen -out markers.txt
