// Package format is the scenario file: its types, and their reading. A file is read
// strictly and checked whole: all that is wrong with it is told at once, each problem
// with its file, line, field and what to do about it, before anything starts. It
// knows no cluster.
package format
