// Package releases records what the minor releases of Kubernetes since 1.30 served, from the sources of
// their last patch releases: the stages and defaults of feature gates, the documents of API discovery,
// and the fields that came and went. Programs read the recordings with internal/releases; a test of the
// API server compares what it serves with them.
package releases
