// Package objectclient is a client-go clientset whose most frequent requests (pods, nodes, events, leases, and what plans
// write) take a short way: it forms the HTTP request itself, sends it through the configuration's own RoundTripper, and
// decodes the protobuf of a success. Everything else, and whatever follows an answer that is not a success, is client-go's:
// it gets the answer as the first one to the same call, and so makes its own errors, warnings and retries. A caller sees no
// difference (k8s.io/client-go/rest documents the requests).
package objectclient
