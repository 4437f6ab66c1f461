// Package fabric is the network of a running cluster: it keeps the objects on which decisions depend (package reach), and asks
// for one. Its informers start with the first question: a cluster in which nothing connects to anything has none of them.
//
// A question is asked when a timer has fired (package box), so that no other work is in flight: the informers show all that was
// written before.
package fabric
