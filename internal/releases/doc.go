// Package releases has what the minor releases of Kubernetes since 1.30 served, as far as it differs: the
// stages and defaults of their feature gates, and the fields of API types that came or went. The
// recordings come from upstream's sources; test/conformance/releases writes them.
package releases
