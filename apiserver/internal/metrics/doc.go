// Package metrics has the apiserver's own Prometheus metrics, with upstream's names and
// labels: what /metrics and /metrics/slis serve. They are per server; a process may have
// several.
package metrics
