package latency

import (
	"math"
	"math/rand/v2"
	"time"
)

// Distribution is how durations are spread. The zero value is always 0.
type Distribution struct {
	// mean is the mean in seconds of an exponential distribution, or the value of a constant one. Others have knots.
	mean        float64
	exponential bool
	// knots are points of the quantile function: with z of the standard normal distribution, the logarithm of the seconds is a straight
	// line from each to the next, and goes on at both ends. So two knots are a log-normal distribution.
	knots []knot
}

type knot struct{ z, log float64 }

// line returns the part of the quantile function between two knots, from the one with index i: log = at + slope*z, which holds from z
// until to.
func (d *Distribution) line(i int) (at, slope, from, to float64) {
	a, b := d.knots[i], d.knots[i+1]
	slope = (b.log - a.log) / (b.z - a.z)
	from, to = a.z, b.z
	if i == 0 {
		from = math.Inf(-1)
	}
	if i == len(d.knots)-2 {
		to = math.Inf(1)
	}
	return a.log - slope*a.z, slope, from, to
}

// Constant returns the distribution of one duration.
func Constant(d time.Duration) Distribution { return Distribution{mean: d.Seconds()} }

// Exponential returns the exponential distribution with a mean.
func Exponential(mean time.Duration) Distribution {
	return Distribution{mean: mean.Seconds(), exponential: true}
}

// Sample returns a duration.
func (d *Distribution) Sample(r *rand.Rand) time.Duration {
	switch {
	case d.exponential:
		return toDuration(d.mean * r.ExpFloat64())
	case len(d.knots) > 0:
		return toDuration(d.byNormal(r.NormFloat64()))
	}
	return toDuration(d.mean)
}

// Quantile returns the duration that a share of the durations, from 0 to 1, do not exceed.
func (d *Distribution) Quantile(share float64) time.Duration {
	switch {
	case d.exponential:
		return toDuration(-d.mean * math.Log1p(-share))
	case len(d.knots) > 0:
		return toDuration(d.byNormal(normalQuantile(share)))
	}
	return toDuration(d.mean)
}

// byNormal returns the seconds at a value of the standard normal distribution.
func (d *Distribution) byNormal(z float64) float64 {
	i := 0
	for i < len(d.knots)-2 && z > d.knots[i+1].z {
		i++
	}
	at, slope, _, _ := d.line(i)
	return math.Exp(at + slope*z)
}

// Mean returns the mean in seconds.
func (d *Distribution) Mean() float64 {
	if len(d.knots) > 0 {
		return d.moment(1)
	}
	return d.mean
}

// Variation returns the squared coefficient of variation: the variance by the square of the mean. It is 0 for a constant and 1 for an
// exponential distribution.
func (d *Distribution) Variation() float64 {
	switch {
	case d.exponential:
		return 1
	case len(d.knots) > 0:
		m := d.moment(1)
		return max(0, d.moment(2)/(m*m)-1)
	}
	return 0
}

// moment returns the mean of the k-th power of the seconds. For a part with the logarithm a + b*z from z1 to z2, it is
// exp(k*a + (k*b)^2/2) times the normal distribution's share between z1 - k*b and z2 - k*b.
func (d *Distribution) moment(k float64) float64 {
	sum := 0.0
	for i := range len(d.knots) - 1 {
		a, b, from, to := d.line(i)
		sum += math.Exp(k*a+k*k*b*b/2) * (normalShare(to-k*b) - normalShare(from-k*b))
	}
	return sum
}

// normalShare returns the share of the standard normal distribution below z.
func normalShare(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

func normalQuantile(share float64) float64 { return math.Sqrt2 * math.Erfinv(2*share-1) }

func toDuration(seconds float64) time.Duration {
	const most = float64(math.MaxInt64)
	ns := seconds * float64(time.Second)
	if !(ns < most) {
		return math.MaxInt64
	}
	return time.Duration(math.Round(ns))
}
