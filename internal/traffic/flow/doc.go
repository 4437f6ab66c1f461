// Package flow computes traffic by counts: a step of a second has so many requests in the mean, and the theory of queues (package queueing)
// says how long they take and how many find no place. Its cost does not depend on the number of requests. Results are means, without chance:
// package exact has the same methods, and its results agree with these in the mean.
//
// A queue that is not in balance follows the approximation of pointwise stationary fluid flow: the number x of requests in the server
// changes by dx/dt = arrivals - workers/service * busy(x), where busy(x) is the share of time for which the formulas of a balanced queue
// have x requests in the mean. It holds below and above the capacity.
//
//minikcm:pure
package flow
