package arrivals

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var errRate = errors.New(`not a number of requests a second from 0 to 1,000,000 such as 200, nor "ramp FROM TO TIME", "steps RATE TIME RATE ...", ` +
	`"sine LOW HIGH PERIOD" or "cycle RATE TIME ..."`)

// Parse reads a rate. It has the forms of a load: "200", "ramp 0 500 10m", "steps 100 5m 900 2m 100", "sine 100 900 24h" (lowest at the
// beginning) and "cycle 100 50m 900 10m". Numbers are requests a second.
func Parse(text string) (Rate, error) {
	words := strings.Fields(text)
	r, err := parse(words)
	if err != nil {
		return Rate{}, fmt.Errorf("%q: %w", text, err)
	}
	return r, nil
}

func parse(words []string) (Rate, error) {
	switch n := len(words); {
	case n == 1:
		rate, err := parseRate(words[0])
		if err != nil {
			return Rate{}, err
		}
		return Constant(rate)
	case n == 4 && (words[0] == "ramp" || words[0] == "sine"):
		from, err1 := parseRate(words[1])
		to, err2 := parseRate(words[2])
		within, err3 := parseTime(words[3])
		if err := errors.Join(err1, err2, err3); err != nil {
			return Rate{}, err
		}
		if words[0] == "sine" {
			return sine(from, to, within)
		}
		return NewRate([]Point{{0, from}, {within, to}}, false)
	case n > 3 && words[0] == "steps" && n%2 == 0:
		last, err := parseRate(words[n-1])
		if err != nil {
			return Rate{}, err
		}
		points, err := stairs(words[1 : n-1])
		if err != nil {
			return Rate{}, err
		}
		return NewRate(append(points, Point{points[len(points)-1].At, last}), false)
	case n > 2 && words[0] == "cycle" && n%2 == 1:
		points, err := stairs(words[1:])
		if err != nil {
			return Rate{}, err
		}
		return NewRate(points, true)
	}
	return Rate{}, errRate
}

// sineParts is the number of straight lines that stand for a wave: they deviate from it by less than 1 in 10,000 of its height.
const sineParts = 240

func sine(low, high float64, period time.Duration) (Rate, error) {
	var points []Point
	for i := range sineParts + 1 {
		share := float64(i) / sineParts
		points = append(points, Point{seconds(share * period.Seconds()), low + (high-low)*(1-math.Cos(2*math.Pi*share))/2})
	}
	return NewRate(points, true)
}

// stairs reads rates with the times that they last.
func stairs(words []string) ([]Point, error) {
	var points []Point
	var at time.Duration
	for i := 0; i+1 < len(words); i += 2 {
		rate, err := parseRate(words[i])
		if err != nil {
			return nil, err
		}
		lasts, err := parseTime(words[i+1])
		if err != nil {
			return nil, err
		}
		if lasts > Never-at {
			return nil, fmt.Errorf("%q: the times add up to more than 292 years", words[i+1])
		}
		points = append(points, Point{at, rate}, Point{at + lasts, rate})
		at += lasts
	}
	return points, nil
}

func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || !(rate >= 0 && rate <= MaxPerSecond) {
		return 0, errRate
	}
	return rate, nil
}

func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration above 0 such as 90s or 24h", text)
	}
	return d, nil
}
