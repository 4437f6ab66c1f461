// Package writeexport encodes the write record in the formats of other tools: events of
// audit.k8s.io/v1, traces of Perfetto, and graphs of Graphviz and Mermaid. Equal writes give
// equal bytes.
package writeexport
