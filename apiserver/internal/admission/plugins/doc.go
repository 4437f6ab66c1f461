// Package plugins has the table of the admission plugins, in upstream's order, and makes those that
// are selected, with their configurations. What a plugin does is in package admission and its
// subpackages; Host is what they need of the API server.
package plugins
