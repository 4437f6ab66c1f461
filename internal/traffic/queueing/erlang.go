package queueing

import "math"

// ErlangB returns the share of arrivals that find all workers busy where no request waits. load is the arrivals in one service time.
func ErlangB(workers int, load float64) float64 {
	b := 1.0
	for n := 1; n <= workers; n++ {
		b = load * b / (float64(n) + load*b)
	}
	return b
}

// ErlangC returns the share of arrivals that have to wait for one of the workers; 1 if load is workers or more.
func ErlangC(workers int, load float64) float64 {
	if load >= float64(workers) {
		return 1
	}
	b := ErlangB(workers, load)
	return b / (1 - load/float64(workers)*(1-b))
}

// Queue is a queue without a limit for equal workers.
type Queue struct {
	Workers int
	// Service is the mean service time in seconds, and Variation its squared coefficient of variation.
	Service, Variation float64
}

// Wait returns the mean time in seconds that requests wait at a rate of arrivals a second, by the approximation of Allen and Cunneen. It is
// exact for one worker (Pollaczek and Khinchine) and for exponential service times. It is infinite if the workers are too few.
func (q *Queue) Wait(perSecond float64) float64 {
	load, workers := perSecond*q.Service, float64(q.Workers)
	if load >= workers {
		return math.Inf(1)
	}
	return ErlangC(q.Workers, load) * q.Service / (workers - load) * (1 + q.Variation) / 2
}

// Present returns the mean number of requests, waiting and in service, if the workers are busy for a share of the time (below 1).
func (q *Queue) Present(busy float64) float64 {
	load := busy * float64(q.Workers)
	return load + ErlangC(q.Workers, load)*busy/(1-busy)*(1+q.Variation)/2
}

// Blocked returns the share of arrivals that find all workers busy and waiting requests up to a limit, and the mean number of waiting
// requests, for exponential service times. The load may be more than workers.
func Blocked(workers, limit int, load float64) (share, waiting float64) {
	// The states with a free worker, or none waiting, have the weight 1 together, and the last of them has the share of Erlang B.
	state, total, busy := ErlangB(workers, load), 1.0, load/float64(workers)
	for n := 1; n <= limit; n++ {
		state *= busy
		total += state
		waiting += float64(n) * state
		if total > 1e200 { // far more load than workers: only the last states count
			state, total, waiting = state/total, 1, waiting/total
		}
	}
	return state / total, waiting / total
}
