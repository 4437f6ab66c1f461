// Package metricsapi has the metrics APIs that upstream leaves to other servers:
// metrics.k8s.io (metrics-server), custom.metrics.k8s.io and external.metrics.k8s.io
// (adapters of monitoring systems). A Source provides the values; API selects the objects that
// they are about and returns the objects with which a request is answered. Nothing is stored.
package metricsapi
