package scenarios

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/internal/traffic"
)

// objective is an objective of a route: what is wanted in words, and what there is.
type objective struct {
	text string
	got  func(r *traffic.Result) (text string, met bool)
}

// check reads the objectives.
func (o *TrafficObjectives) check(c *spec.Checker) []objective {
	var all []objective
	if o.Availability != "" {
		share, err := traffic.ParseShare(o.Availability)
		c.Check("slo.availability", err)
		all = append(all, objective{"availability " + o.Availability, func(r *traffic.Result) (string, bool) { return available(r, share) }})
	}
	for _, q := range []struct {
		share float64
		limit spec.Duration
	}{{0.5, o.P50}, {0.95, o.P95}, {0.99, o.P99}} {
		if limit := time.Duration(q.limit); limit > 0 {
			all = append(all, objective{fmt.Sprintf("p%.0f %v", q.share*100, limit), func(r *traffic.Result) (string, bool) { return quantile(r, q.share, limit) }})
		}
	}
	return all
}

// available judges the share of the requests that have an end, and succeeded.
func available(r *traffic.Result, wanted float64) (text string, met bool) {
	failed := r.Failed()
	ended := r.Succeeded + failed
	if ended == 0 {
		return "no request has an end", false
	}
	share := r.Succeeded / ended
	// Rounded down: 99.999% is not 100%.
	percent := strconv.FormatFloat(math.Floor(share*1e5)/1e3, 'f', -1, 64)
	return fmt.Sprintf("%s%% (%.0f of %.0f failed)", percent, failed, ended), share >= wanted
}

// quantile judges a quantile.
func quantile(r *traffic.Result, share float64, limit time.Duration) (text string, met bool) {
	if r.Latency.Count() == 0 {
		return "no request succeeded", false
	}
	got := r.Latency.Quantile(share)
	return got.Round(10 * time.Microsecond).String(), got <= limit
}

// judge returns what became of the objectives.
func judge(all []objective, r *traffic.Result) []runrecord.Objective {
	var list []runrecord.Objective
	for _, o := range all {
		got, met := o.got(r)
		list = append(list, runrecord.Objective{Text: o.text, Got: got, Met: met})
	}
	return list
}
