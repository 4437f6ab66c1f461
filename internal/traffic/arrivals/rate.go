package arrivals

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Point is the rate at a time.
type Point struct {
	// At is the time since the beginning.
	At time.Duration
	// PerSecond is the number of requests a second.
	PerSecond float64
}

// Rate is a curve of requests a second. It is a straight line from each point to the next, and stays at the last one, or repeats. The
// zero value is no requests.
type Rate struct {
	points []Point
	// counts are the requests until each point.
	counts []float64
	// period, if it is not 0, is the time after which the curve repeats: the time of its last point.
	period time.Duration
}

// The limits of a rate.
const (
	// MaxPerSecond is the largest rate.
	MaxPerSecond = 1e6
	// maxPoints is the largest number of points: a week with one each second.
	maxPoints = 7 * 24 * 60 * 60
)

var errOrder = errors.New("the times must not decrease")

// NewRate returns a curve through points, whose times must not decrease. Of two points at one time, the second holds from there on. If
// the first is later than 0, the curve begins with its rate. repeats says whether it begins again after the last point.
func NewRate(points []Point, repeats bool) (Rate, error) {
	if len(points) > maxPoints {
		return Rate{}, fmt.Errorf("a rate has %d points at most, but got %d", maxPoints, len(points))
	}
	r := Rate{points: points, counts: make([]float64, len(points))}
	for i, p := range points {
		if !(p.PerSecond >= 0 && p.PerSecond <= MaxPerSecond) {
			return Rate{}, fmt.Errorf("%v is not a rate from 0 to %.0f requests a second", p.PerSecond, MaxPerSecond)
		}
		before := Point{PerSecond: p.PerSecond}
		if i > 0 {
			before, r.counts[i] = points[i-1], r.counts[i-1]
		}
		if p.At < before.At {
			return Rate{}, errOrder
		}
		r.counts[i] += (before.PerSecond + p.PerSecond) / 2 * (p.At - before.At).Seconds()
	}
	if repeats {
		if r.period = r.end().At; r.period <= 0 {
			return Rate{}, errors.New("a rate that repeats needs a period above 0")
		}
	}
	return r, nil
}

// Constant returns a rate that does not change.
func Constant(perSecond float64) (Rate, error) {
	return NewRate([]Point{{PerSecond: perSecond}}, false)
}

func (r Rate) end() Point {
	if len(r.points) == 0 {
		return Point{}
	}
	return r.points[len(r.points)-1]
}

// total returns the requests of one period, or until the last point.
func (r Rate) total() float64 {
	if len(r.counts) == 0 {
		return 0
	}
	return r.counts[len(r.counts)-1]
}

// Count returns how many requests arrive in the mean from the beginning until a time.
func (r Rate) Count(t time.Duration) float64 {
	before := 0.0
	if r.period > 0 {
		before = float64(t/r.period) * r.total()
		t %= r.period
	}
	i, _ := slices.BinarySearchFunc(r.points, t, func(p Point, t time.Duration) int {
		if p.At <= t {
			return -1
		}
		return 1
	})
	switch {
	case len(r.points) == 0:
		return 0
	case i == 0:
		return before + r.points[0].PerSecond*t.Seconds()
	case i == len(r.points):
		return before + r.total() + r.end().PerSecond*(t-r.end().At).Seconds()
	}
	from, to := r.points[i-1], r.points[i]
	d := (t - from.At).Seconds()
	slope := (to.PerSecond - from.PerSecond) / (to.At - from.At).Seconds()
	return before + r.counts[i-1] + d*(from.PerSecond+slope*d/2)
}

// Never is the time of what does not arrive.
const Never = time.Duration(math.MaxInt64)

// When is the inverse of Count: the time until which so many requests arrive in the mean; Never if they do not.
func (r Rate) When(count float64) time.Duration {
	start := 0.0 // of the period, in seconds
	if r.period > 0 {
		if r.total() == 0 {
			return Never
		}
		turns := math.Floor(count / r.total())
		start, count = turns*r.period.Seconds(), count-turns*r.total()
	}
	i, _ := slices.BinarySearchFunc(r.counts, count, func(c, count float64) int {
		if c < count {
			return -1
		}
		return 1
	})
	switch {
	case len(r.points) == 0:
		return Never
	case i == len(r.points):
		return after(start+r.end().At.Seconds(), count-r.total(), r.end().PerSecond)
	case i == 0:
		return after(start, count, r.points[0].PerSecond)
	}
	from, to := r.points[i-1], r.points[i]
	rest := count - r.counts[i-1]
	slope := (to.PerSecond - from.PerSecond) / (to.At - from.At).Seconds()
	// The root of rest = d*PerSecond + d*d*slope/2 in a form that is exact for a slope near 0.
	root := math.Sqrt(max(0, from.PerSecond*from.PerSecond+2*slope*rest))
	return seconds(start + from.At.Seconds() + 2*rest/(from.PerSecond+root))
}

// after returns the time at which count further requests have arrived at a constant rate.
func after(start, count, perSecond float64) time.Duration {
	switch {
	case count <= 0:
		return seconds(start)
	case perSecond <= 0:
		return Never
	}
	return seconds(start + count/perSecond)
}

func seconds(s float64) time.Duration {
	if s >= Never.Seconds() {
		return Never
	}
	return time.Duration(math.Round(s * float64(time.Second)))
}

// At returns the rate at a time, in requests a second.
func (r Rate) At(t time.Duration) float64 {
	return (r.Count(t+time.Millisecond) - r.Count(t)) / time.Millisecond.Seconds()
}
