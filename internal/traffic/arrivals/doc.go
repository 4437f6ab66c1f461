// Package arrivals has the rates at which requests arrive: curves over time, which are read from a text of the form of loads, from a CSV
// file, or from the answer of Prometheus to a range query.
//
//minikcm:pure
package arrivals
