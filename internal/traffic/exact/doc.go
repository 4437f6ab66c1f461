// Package exact computes traffic request by request, as a simulation of discrete events: each arrival, start and end of a service, time-out
// and retry is an event in one queue. Equal seeds give equal results. Between two changes of the world, nothing has to happen: Advance
// computes all that came in between.
//
//minikcm:pure
package exact
