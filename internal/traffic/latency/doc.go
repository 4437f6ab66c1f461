// Package latency has distributions of durations, as people state them (20ms, p50=20ms p99=300ms), and histograms of durations that were
// seen.
//
//minikcm:pure
package latency
