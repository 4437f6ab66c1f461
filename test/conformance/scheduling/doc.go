// Package scheduling records what upstream's scheduler decides for the pods of random clusters: the nodes
// that pass the filters, the reasons against the others, the message of FailedScheduling, and the score of
// each plugin. The tests of controllers/internal/scheduler compare their decisions with a recording.
package scheduling
