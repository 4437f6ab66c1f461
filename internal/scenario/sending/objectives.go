package sending

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/internal/traffic"
	"minikcm.dev/minikcm/internal/traffic/latency"
)

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

// quantile judges a quantile. It is known as a bucket of a histogram, which must lie above the limit as a whole to miss it.
func quantile(r *traffic.Result, share float64, limit time.Duration) (text string, met bool) {
	if r.Latency.Count() == 0 {
		return "no request succeeded", false
	}
	got := r.Latency.Quantile(share)
	if met = latency.Least(got) <= limit; met {
		got = min(got, limit)
	}
	return got.Round(10 * time.Microsecond).String(), met
}

// judge returns what became of the objectives.
func judge(all []spec.Objective, r *traffic.Result) []runrecord.Objective {
	var list []runrecord.Objective
	for _, o := range all {
		got, met := "", false
		if o.Limit > 0 {
			got, met = quantile(r, o.Quantile, o.Limit)
		} else {
			got, met = available(r, o.Availability)
		}
		list = append(list, runrecord.Objective{Text: o.Text, Got: got, Met: met})
	}
	return list
}
