// Package scales accesses the scale subresource of objects of any kind, including custom
// ones that are defined while the process runs.
package scales
