// Package releases has the differences between the APIs of the minor releases of Kubernetes since 1.30: the
// stages and defaults of their feature gates, and the fields of API types that came or went. The
// recordings come from upstream's sources; test/conformance/releases writes them.
package releases
