package arrivals

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]map[time.Duration]float64{ // requests until a time
		"200":                     {0: 0, time.Second: 200, time.Hour: 720_000},
		"0":                       {time.Hour: 0},
		"ramp 0 100 10s":          {5 * time.Second: 125, 10 * time.Second: 500, 11 * time.Second: 600},
		"steps 10 5s 20 5s 1":     {5 * time.Second: 50, 6 * time.Second: 70, 10 * time.Second: 150, 20 * time.Second: 160},
		"cycle 10 5s 20 5s":       {5 * time.Second: 50, 10 * time.Second: 150, 16 * time.Second: 220},
		"sine 0 100 1m":           {30 * time.Second: 1500, time.Minute: 3000, 90 * time.Second: 4500},
		"steps 0 5s 1000 100ms 0": {5 * time.Second: 0, 6 * time.Second: 100},
	} {
		r, err := Parse(text)
		if err != nil {
			t.Error(err)
			continue
		}
		for at, count := range want {
			if got := r.Count(at); math.Abs(got-count) > 1e-6*max(1, count) {
				t.Errorf("%s: %v requests until %v, not %v", text, got, at, count)
			}
		}
		for _, count := range []float64{0.5, 1, 99.5, 777} {
			if at := r.When(count); at != Never && math.Abs(r.Count(at)-count) > 1e-5 {
				t.Errorf("%s: %v requests until %v, when there should be %v", text, r.Count(at), at, count)
			}
		}
	}
	r, _ := Parse("steps 10 5s 0")
	if at := r.When(51); at != Never {
		t.Errorf("the 51st of 50 requests comes at %v", at)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "not a number", "many": "not a number", "-1": "not a number", "NaN": "not a number", "1e9": "not a number", "ramp 1 2": "not a number",
		"ramp 0 1 -5s": "not a duration", "steps 1 5s": "not a number", "steps 1 2 3": "not a duration", "cycle 1": "not a number",
		"steps 1 2000000h 1 2000000h 1": "292 years",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRead(t *testing.T) {
	for name, content := range map[string]string{
		"seconds":    "time,rate\n0,10\n10,30\n",
		"durations":  "# a comment\n1m,10\n1m10s,30\n",
		"RFC 3339":   "at, requests\n2026-11-29T12:00:00Z, 10\n2026-11-29T12:00:10Z, 30\n",
		"Prometheus": `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1764417600,"10"],[1764417610,"30"]]}]}}`,
	} {
		r, err := Read([]byte(content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := r.Count(12 * time.Second); math.Abs(got-260) > 1e-6 {
			t.Errorf("%s: %v requests", name, got)
		}
	}
	for content, want := range map[string]string{
		"":                                 "no line",
		"0,1\nx,2\n":                       "line 2",
		"1,2,3\n":                          "wrong number of fields",
		"5,1\n3,1\n":                       "must not decrease",
		"0,-1\n":                           "not a rate",
		`{"status":"error","error":"no"}`:  "failed in Prometheus: no",
		`{"data":{"resultType":"vector"}}`: "must be the matrix",
		`{"data":{"resultType":"matrix","result":[]}}`:                       "0 series",
		`{"data":{"resultType":"matrix","result":[{"values":[["x","1"]]}]}}`: "value 1",
		`{"data":{"resultType":"matrix","result":[{"values":[[1,"NaN"]]}]}}`: "not a rate",
		`{"data":{"resultType":"matrix","result":[{"values":[]}]}}`:          "no values",
	} {
		if _, err := Read([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("0,10\n10,30\n"))
	f.Add([]byte(`{"data":{"resultType":"matrix","result":[{"values":[[1,"10"],[2,"30"]]}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(data)
		if err != nil {
			return
		}
		last := 0.0
		for _, at := range []time.Duration{0, time.Second, time.Hour, 1 << 60} {
			if n := r.Count(at); math.IsNaN(n) || n < last {
				t.Fatalf("%v requests until %v, and %v before", n, at, last)
			} else {
				last = n
			}
		}
		if r.When(1) < 0 {
			t.Fatal("a request before the beginning")
		}
	})
}
