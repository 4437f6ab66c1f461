// Package queueing has the formulas of queues: Erlang's for exponential service times, and the corrections of Pollaczek and Khinchine, and
// of Allen and Cunneen, for others. Arrivals are by chance (a Poisson process).
//
//minikcm:pure
package queueing
