package latency

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][3]float64{ // p50 and p99 in ms, and the variation
		"20ms":               {20, 20, 0},
		"exponential 20ms":   {13.863, 92.103, 1},
		"p50=20ms p99=300ms": {20, 300, 2.8781},
		"p50=20ms p99=20ms":  {20, 20, 0},
		"0s":                 {0, 0, 0},
	} {
		d, err := Parse(text)
		if err != nil {
			t.Error(err)
			continue
		}
		got := [3]float64{d.Quantile(0.5).Seconds() * 1000, d.Quantile(0.99).Seconds() * 1000, d.Variation()}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 0.001*max(1, want[i]) {
				t.Errorf("%s: %v, not %v", text, got, want)
			}
		}
	}
	// The mean of a log-normal distribution is exp(mu + sigma^2/2).
	d, _ := Parse("p50=20ms p99=300ms")
	sigma := math.Log(15) / normalQuantile(0.99)
	if want := 0.02 * math.Exp(sigma*sigma/2); math.Abs(d.Mean()-want) > 1e-9 {
		t.Errorf("the mean is %v, not %v", d.Mean(), want)
	}
	for text, want := range map[string]string{
		"": "not a duration", "fast": "not a duration", "-1s": "is not from 0", "2h": "is not from 0", "exponential": "not a duration", "p50=20ms": "not a duration",
		"p50=20ms p40=30ms": "must rise", "p50=20ms p99=10ms": "must not fall", "p0=1ms p50=2ms": "not a percentile", "p50=0s p99=1s": "above 0", "p50=1ms 99=2ms": "not a duration",
		"pNaN=1ms p99=2ms": "not a percentile",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestHistogram(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 || h.Mean() != 0 || h.Above(0) != 0 {
		t.Error("an empty histogram has values")
	}
	for i := range 1000 {
		h.Add(time.Duration(i+1)*time.Millisecond, 2)
	}
	for share, want := range map[float64]float64{0.001: 0.001, 0.5: 0.5, 0.95: 0.95, 0.99: 0.99, 1: 1} {
		if got := h.Quantile(share).Seconds(); math.Abs(got/want-1) > 0.008 {
			t.Errorf("quantile %v: %v", share, got)
		}
	}
	if got := h.Above(900 * time.Millisecond); math.Abs(got-0.1) > 0.01 {
		t.Errorf("%v are above 900ms", got)
	}
	var sum Histogram
	sum.AddAll(&h, 0.5)
	if sum.Count() != 1000 || math.Abs(sum.Mean()-0.5005) > 1e-9 || sum.Quantile(0.5) != h.Quantile(0.5) {
		t.Errorf("the sum has %v with the mean %v", sum.Count(), sum.Mean())
	}
	for _, d := range []time.Duration{-1, 0, 1, 63, 64, 65, 127, 128, 1 << 40, math.MaxInt64} { // each has a bucket, near its value
		var one Histogram
		one.Add(d, 1)
		if got := float64(one.Quantile(1)); math.Abs(got-float64(max(d, 0))) > 0.008*math.Abs(float64(d))+0.5 {
			t.Errorf("%d is counted as %v", d, got)
		}
	}
}

// The least duration of a bucket is at most 1/64 below those that it has, and in the same bucket.
func TestLeast(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 63, 64, 65, time.Microsecond, 10 * time.Millisecond, time.Hour} {
		least := Least(d)
		if least > d || float64(d-least) > float64(d)/64 || Least(least) != least {
			t.Errorf("the bucket of %v begins with %v", d, least)
		}
	}
}
