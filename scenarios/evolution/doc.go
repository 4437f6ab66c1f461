// Package evolution is one reconcile in the four ways in which it was done over the
// years: by polling, by an informer of one's own, by informers that several share, and
// by the controller of a custom resource. Each keeps, for every ConfigMap with the label
// evolution=source, and for every one of its Consumers, a copy with the same data; only
// how it learns that something is to be done differs, and with it how much it asks of
// the API server.
package evolution
