package latency

import (
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations, in buckets that are 1/64 of their value wide: a quantile deviates by less than 0.8 % from an exact one. The
// zero value is empty.
type Histogram struct {
	// octaves are the buckets between two powers of 2, as far as there are counts.
	octaves [64]*[perOctave]float64
	count   float64
	// sum is the sum of all durations, in seconds.
	sum float64
}

const (
	octaveBits = 6
	perOctave  = 1 << octaveBits
)

// Add counts a duration, n times. n need not be whole.
func (h *Histogram) Add(d time.Duration, n float64) {
	d = max(d, 0)
	octave, part := bucket(d)
	if h.octaves[octave] == nil {
		h.octaves[octave] = new([perOctave]float64)
	}
	h.octaves[octave][part] += n
	h.count += n
	h.sum += n * d.Seconds()
}

// bucket returns the place of a duration that is not negative.
func bucket(d time.Duration) (octave, part int) {
	octave = max(bits.Len64(uint64(d)), octaveBits+1)
	part = int(uint64(d) >> (octave - octaveBits - 1))
	if octave > octaveBits+1 || part >= perOctave {
		return octave, part - perOctave
	}
	return octaveBits, part // below 64ns
}

// Least returns the shortest duration of the bucket that has a duration.
func Least(d time.Duration) time.Duration {
	octave, part := bucket(max(d, 0))
	if octave <= octaveBits {
		return time.Duration(part)
	}
	return time.Duration(uint64(part+perOctave) << (octave - octaveBits - 1))
}

// AddAll adds the counts of another histogram, each times n.
func (h *Histogram) AddAll(of *Histogram, n float64) {
	for i, o := range of.octaves {
		if o == nil {
			continue
		}
		if h.octaves[i] == nil {
			h.octaves[i] = new([perOctave]float64)
		}
		for j, c := range o {
			h.octaves[i][j] += c * n
		}
	}
	h.count += of.count * n
	h.sum += of.sum * n
}

// Count returns how many durations were counted.
func (h *Histogram) Count() float64 { return h.count }

// Mean returns the mean in seconds; 0 if there are none.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return h.sum / h.count
}

// Quantile returns the duration that a share of the durations, from 0 to 1, do not exceed; 0 if there are none.
func (h *Histogram) Quantile(share float64) time.Duration {
	// Sums of parts deviate in their last digits.
	rank := share*h.count - 1e-9*h.count
	seen, found := 0.0, time.Duration(0)
	h.Each(func(d time.Duration, n float64) {
		if seen < rank || found == 0 {
			found = d
		}
		seen += n
	})
	return found
}

// middle returns the duration that stands for a bucket.
func middle(octave, part int) time.Duration {
	if octave <= octaveBits {
		return time.Duration(part)
	}
	shift := octave - octaveBits - 1
	from := uint64(part+perOctave) << shift
	return time.Duration(min(from+(uint64(1)<<shift)/2, math.MaxInt64))
}

// Each calls do for each bucket that has counts, the shortest durations first.
func (h *Histogram) Each(do func(d time.Duration, n float64)) {
	for octave, o := range h.octaves {
		if o == nil {
			continue
		}
		for part, n := range o {
			if n != 0 {
				do(middle(octave, part), n)
			}
		}
	}
}

// Above returns the share of the durations that are longer than d, by whole buckets; 0 if there are none.
func (h *Histogram) Above(d time.Duration) float64 {
	n := 0.0
	h.Each(func(at time.Duration, count float64) {
		if at > d {
			n += count
		}
	})
	return n / max(h.count, 1e-300)
}
