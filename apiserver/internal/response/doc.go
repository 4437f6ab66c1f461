// Package response writes responses as upstream's apiserver does: documents, compressed
// or indented if the client accepts or prefers that, errors as a metav1.Status, and
// Warning headers. A client that stops reading is disconnected (package slowclient).
package response
