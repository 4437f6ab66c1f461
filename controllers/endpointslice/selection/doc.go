// Package selection answers, from indices on shared informers, which pods a
// service selects and which services select a pod, so that neither an event nor a
// reconcile looks at all pods or all services of a namespace; and how long the events
// of large services wait to be handled together. The endpoints and the endpointslice
// controllers share it.
package selection
