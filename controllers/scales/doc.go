// Package scales reaches the scale subresource of objects of any kind, custom ones
// defined while the process runs among them.
package scales
