// Package plugins has the table of the admission plugins, in upstream's order, and makes the
// selected ones, with their configurations. Package admission and its subpackages implement the
// plugins; Host gives them access to the API server.
package plugins
