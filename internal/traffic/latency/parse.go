package latency

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// longest is the longest duration that a distribution may state.
const longest = time.Hour

var errDistribution = errors.New(`not a duration such as 20ms, nor "exponential MEAN", nor two or more percentiles such as p50=20ms p99=300ms`)

// Parse reads a distribution: a duration is constant, "exponential 20ms" has that mean, and two or more percentiles ("p50=20ms p99=300ms")
// are joined by parts of log-normal distributions; of two, it is the log-normal distribution that has both.
func Parse(text string) (Distribution, error) {
	d, err := parse(strings.Fields(text))
	if err != nil {
		return Distribution{}, fmt.Errorf("%q: %w", text, err)
	}
	return d, nil
}

func parse(words []string) (Distribution, error) {
	switch {
	case len(words) == 1 && !strings.Contains(words[0], "="):
		d, err := parseDuration(words[0])
		return Constant(d), err
	case len(words) == 2 && words[0] == "exponential":
		d, err := parseDuration(words[1])
		return Exponential(d), err
	case len(words) < 2:
		return Distribution{}, errDistribution
	}
	var d Distribution
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		number, isPercentile := strings.CutPrefix(name, "p")
		percent, err := strconv.ParseFloat(number, 64)
		if !ok || !isPercentile || err != nil {
			return Distribution{}, errDistribution
		}
		if !(percent >= 0.01 && percent <= 99.999) {
			return Distribution{}, fmt.Errorf("%s is not a percentile from p0.01 to p99.999", name)
		}
		at, err := parseDuration(value)
		if err != nil {
			return Distribution{}, err
		}
		if at == 0 {
			return Distribution{}, fmt.Errorf("%s: a percentile must be above 0", word)
		}
		k := knot{normalQuantile(percent / 100), math.Log(at.Seconds())}
		if n := len(d.knots); n > 0 && (k.z <= d.knots[n-1].z || k.log < d.knots[n-1].log) {
			return Distribution{}, fmt.Errorf("%s: percentiles must rise, and their durations must not fall", word)
		}
		d.knots = append(d.knots, k)
	}
	return d, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, errDistribution
	case d < 0 || d > longest:
		return 0, fmt.Errorf("%s is not from 0 to %v", text, longest)
	}
	return d, nil
}
