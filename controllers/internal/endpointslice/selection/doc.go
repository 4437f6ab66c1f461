// Package selection finds, by indices on shared informers, the pods that a service selects
// and the services that select a pod, so that neither an event nor a reconcile scans all
// pods or services of a namespace. It also records which pods of a service have changed since
// its last reconcile, and batches the events of large services. The
// controllers of Endpoints and EndpointSlices share it.
package selection
