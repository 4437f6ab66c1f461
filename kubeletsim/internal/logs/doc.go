// Package logs holds the output of containers: a Buffer keeps the last lines of one run,
// and a Writer writes the lines that a request for a log selects, in the form of a kubelet.
// Readers of a log never affect the cluster's state.
package logs
