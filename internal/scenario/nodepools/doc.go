// Package nodepools makes the nodes of a cluster from their description in a file: documents of kind
// NodePools, whose pools are written as in a scenario's cluster. A file is read strictly and checked
// whole, and the error names the line and the field of everything that is wrong with it.
package nodepools
