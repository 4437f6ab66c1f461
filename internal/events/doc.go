// Package events writes the Events that components report about objects, as core/v1 objects with
// times of the cluster's clock. Reporting never blocks and never fails: an event goes into a
// bounded queue, is merged with similar events by client-go's correlator (counts, "combined from
// similar events", the spam filter), and is written by the recorder's own goroutines in the order
// of its object. What does not fit into the queue is dropped and counted.
package events
