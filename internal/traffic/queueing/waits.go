package queueing

import "math"

// Cell stands for a share of a distribution.
type Cell struct {
	// At is the value, or the quantile that has it.
	At, Share float64
}

// Cells divides a distribution by quantiles, more finely at its end. The shares have the sum 1.
func Cells() []Cell {
	var list []Cell
	at := 0.0
	for _, part := range []struct {
		to float64
		n  int
	}{{0.9, 60}, {0.99, 30}, {0.999, 18}, {0.99999, 20}, {1, 1}} {
		share := (part.to - at) / float64(part.n)
		for i := range part.n {
			list = append(list, Cell{at + (float64(i)+0.5)*share, share})
		}
		at = part.to
	}
	return list
}

// The first places of a queue are computed one by one, and the others in so many steps.
const (
	singlePlaces = 50
	maxSteps     = 50
)

// Waits returns how long the requests wait, in seconds, that a queue with a limit takes in balance, if service times are slower by a factor.
// load is the arrivals in one service time. A request that finds n others waiting waits for n+1 ends of services, which has a gamma
// distribution for exponential service times.
func (q *Queue) Waits(limit int, load, slower float64) []Cell {
	busy := load / float64(q.Workers)
	all := ErlangB(q.Workers, load)
	list := []Cell{{0, 1 - all}}
	each := q.Service * max(1, slower) / float64(q.Workers)
	spread := math.Sqrt((1 + q.Variation) / 2)
	total := 1 - all
	for n, step := 0, 1; n < limit; n += step {
		if n == singlePlaces {
			step = (limit - n + maxSteps - 1) / maxSteps
		}
		weight := 0.0
		for i := n; i < min(n+step, limit); i++ {
			weight += all
			all *= busy
		}
		places := float64(n) + float64(min(step, limit-n)+1)/2
		for i := range waitParts {
			z := math.Sqrt2 * math.Erfinv((2*float64(i)+1)/waitParts-1)
			list = append(list, Cell{places * each * gammaShape(places/(spread*spread), z), weight / waitParts})
		}
		if total += weight; total > 1e200 {
			for i := range list {
				list[i].Share /= total
			}
			all, total = all/total, 1
		}
	}
	for i := range list {
		list[i].Share /= total
	}
	return list
}

// waitParts is the number of quantiles that stand for the wait at one place of the queue.
const waitParts = 20

// gammaShape returns the quantile of a gamma distribution with the mean 1 at the normal distribution's z (Wilson and Hilferty).
func gammaShape(shape, z float64) float64 {
	third := 1 - 1/(9*shape) + z/(3*math.Sqrt(shape))
	return max(0, third*third*third)
}
