// Package selection answers, from indices on shared informers, which pods a
// service selects and which services select a pod, so that neither an event nor a
// reconcile looks at all pods or all services of a namespace. The endpoints and
// the endpointslice controllers share it.
package selection
