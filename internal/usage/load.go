package usage

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/quantity"
	"minikcm.dev/minikcm/internal/span"
)

// Load is an amount over time, the sum of its terms. An annotation writes it as one of
//
//	250m                       always the same
//	ramp 100m 900m 10m         from the first to the second within the time, then constant
//	steps 100m 5m 900m 2m 1    each for the time after it; the last stays
//	sine 100m 900m 24h         a wave: lowest at multiples of the period, highest between
//	cycle 100m 50m 900m 10m    as steps, again and again
//
// or several of them with + between. Amounts are Kubernetes quantities. The time of ramp and steps
// begins with the start of the container, or with the creation of any other object that has the
// annotation. sine and cycle follow the cluster's clock in UTC, so that the lowest point of a 24h
// sine is midnight. At the end may stand "noise 10%": every sample is then off by up to that share
// of it, by the cluster's seed.
type Load struct {
	terms []term
	// noise is the maximum relative deviation, 0 to 1.
	noise float64
	// constant means that the load does not depend on time, except for noise.
	constant bool
}

// term is one summand of a load.
type term struct {
	// at returns the amount at a time, for a load that began at since.
	at func(at, since time.Time) float64
	// most is the largest amount at any time.
	most float64
}

var errLoad = errors.New(`not an amount such as 250m, nor "ramp FROM TO TIME", "steps AMOUNT TIME AMOUNT ...", ` +
	`"sine LOW HIGH PERIOD", "cycle AMOUNT TIME ...", sums of these with +, or any of it with "noise PERCENT%" at the end`)

// ParseLoad reads a load. The error lists the forms of a load.
func ParseLoad(text string) (Load, error) {
	words := strings.Fields(text)
	l := Load{constant: true}
	if n := len(words); n > 2 && words[n-2] == "noise" {
		share, err := parseShare(words[n-1])
		if err != nil {
			return Load{}, fmt.Errorf("%q: %w", text, err)
		}
		l.noise, words = share, words[:n-2]
	}
	for {
		n := 0
		for n < len(words) && words[n] != "+" {
			n++
		}
		t, err := parseTerm(words[:n])
		if err != nil {
			return Load{}, fmt.Errorf("%q: %w", text, err)
		}
		l.terms = append(l.terms, t)
		l.constant = l.constant && n == 1
		if n == len(words) {
			return l, nil
		}
		words = words[n+1:]
	}
}

func parseShare(text string) (float64, error) {
	number, found := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || !(percent >= 0 && percent <= 100) {
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
	}
	return percent / 100, nil
}

func parseTerm(words []string) (term, error) {
	switch {
	case len(words) == 1:
		amount, err := parseAmount(words[0])
		return term{func(time.Time, time.Time) float64 { return amount }, amount}, err
	case len(words) == 4 && (words[0] == "ramp" || words[0] == "sine"):
		return parseCurve(words[0], words[1:])
	case len(words) > 3 && words[0] == "steps" && len(words)%2 == 0:
		amount, err := parseAmount(words[len(words)-1])
		if err != nil {
			return term{}, err
		}
		stairs, _, err := parseStairs(words[1 : len(words)-1])
		return term{func(at, since time.Time) float64 {
			if value, ok := stairs.at(at.Sub(since)); ok {
				return value
			}
			return amount
		}, max(stairs.most(), amount)}, err
	case len(words) > 2 && words[0] == "cycle" && len(words)%2 == 1:
		stairs, period, err := parseStairs(words[1:])
		return term{func(at, _ time.Time) float64 {
			value, _ := stairs.at(sincePeriod(at, period))
			return value
		}, stairs.most()}, err
	}
	return term{}, errLoad
}

func parseCurve(shape string, words []string) (term, error) {
	from, err := parseAmount(words[0])
	if err != nil {
		return term{}, err
	}
	to, err := parseAmount(words[1])
	if err != nil {
		return term{}, err
	}
	d, err := parseTime(words[2])
	if err != nil {
		return term{}, err
	}
	if shape == "ramp" {
		return term{func(at, since time.Time) float64 {
			done := float64(at.Sub(since)) / float64(d)
			return from + (to-from)*min(max(done, 0), 1)
		}, max(from, to)}, nil
	}
	return term{func(at, _ time.Time) float64 {
		phase := float64(sincePeriod(at, d)) / float64(d)
		return from + (to-from)*(1-math.Cos(2*math.Pi*phase))/2
	}, max(from, to)}, nil
}

// stairs are amounts, each valid until a time.
type stairs []stair

type stair struct {
	amount float64
	until  time.Duration
}

func parseStairs(words []string) (stairs, time.Duration, error) {
	var s stairs
	var until time.Duration
	for i := 0; i+1 < len(words); i += 2 {
		amount, err := parseAmount(words[i])
		if err != nil {
			return nil, 0, err
		}
		d, err := parseTime(words[i+1])
		if err != nil {
			return nil, 0, err
		}
		until = span.Sum(until, d)
		s = append(s, stair{amount, until})
	}
	return s, until, nil
}

// at returns the amount after d; false after the last stair.
func (s stairs) at(d time.Duration) (float64, bool) {
	for _, stair := range s {
		if d < stair.until {
			return stair.amount, true
		}
	}
	return 0, false
}

// most returns the largest amount.
func (s stairs) most() float64 {
	most := math.Inf(-1)
	for _, stair := range s {
		most = max(most, stair.amount)
	}
	return most
}

// sincePeriod returns the time since the start of the present period, counted from midnight of
// 1970-01-01 UTC.
func sincePeriod(at time.Time, period time.Duration) time.Duration {
	return ((time.Duration(at.UnixNano()) % period) + period) % period
}

func parseAmount(text string) (float64, error) {
	amount, err := quantity.Parse(text)
	if err != nil {
		return 0, errLoad
	}
	return amount.AsApproximateFloat64(), nil
}

func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration above 0 such as 90s or 24h", text)
	}
	return d, nil
}

// at returns the amount at a time, without noise, of a load that began at since.
func (l *Load) at(at, since time.Time) float64 {
	var value float64
	for _, t := range l.terms {
		value += t.at(at, since)
	}
	return value
}

// most returns an amount that the load never exceeds, without noise.
func (l *Load) most() float64 {
	var value float64
	for _, t := range l.terms {
		value += t.most
	}
	return value
}

// sample returns the amount with noise, which follows from the seed and the key. Noise never
// changes the sign.
func (l *Load) sample(at, since time.Time, seed uint64, key ...string) float64 {
	value := l.at(at, since)
	if l.noise == 0 {
		return value
	}
	return value * (1 + l.noise*chance(seed, at, key))
}

// chance returns a pseudo-random number from -1 to 1.
func chance(seed uint64, at time.Time, key []string) float64 {
	h := fnv.New64a()
	var bits [16]byte
	for i := range 8 {
		bits[i] = byte(seed >> (8 * i))
		bits[8+i] = byte(uint64(at.UnixNano()) >> (8 * i)) // any bits will do
	}
	_, _ = h.Write(bits[:])
	for _, part := range key {
		_, _ = io.WriteString(h, part)
		_, _ = h.Write([]byte{0})
	}
	return float64(mix(h.Sum64())>>11)/(1<<52) - 1
}

// mix spreads a hash over all of its bits, as splitmix64 ends.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
