// Package spec is the form of a scenario file, and of one that only describes nodes (NodePools): its
// types, and how YAML becomes them. A file is read strictly and checked whole, before anything
// starts. All problems are reported at once, each with its file, line and field, and what to do about
// it.
//
// The package knows no cluster. What a step can do, what a cluster needs and what an
// expression may be comes from the caller, as a table of step kinds and as functions
// (LoadOptions).
package spec
