// Package discovery serves the API's groups, versions and resources, as one document each and
// aggregated (KEP-3352). A document is made of the table of kinds that is served at the time
// of the request.
package discovery
