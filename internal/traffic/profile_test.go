package traffic

import (
	"strings"
	"testing"
	"time"
)

func TestParseProfile(t *testing.T) {
	p, err := ParseProfile("service p50=20ms p99=300ms\n\n  workers 16\nqueue 100\nerrors 0.5%\nwarm-up 30s 3\nsigterm finish\n")
	if err != nil {
		t.Fatal(err)
	}
	if p.Workers != 16 || p.Queue != 100 || p.ErrorRate != 0.005 || p.WarmUp != 30*time.Second || p.WarmFactor != 3 || !p.Finishes || p.Service.Quantile(0.5).Round(time.Millisecond) != 20*time.Millisecond {
		t.Errorf("got %+v", p)
	}
	for since, want := range map[time.Duration]float64{0: 3, 15 * time.Second: 2, 30 * time.Second: 1, time.Hour: 1} {
		if got := p.Slower(since); got != want {
			t.Errorf("%v after the start, services take %v times as long, not %v", since, got, want)
		}
	}
	if p, err = ParseProfile(""); err != nil || p.Queue != -1 || p.Service.Mean() != DefaultService.Seconds() {
		t.Errorf("without properties: %+v, %v", p, err)
	}
	for text, want := range map[string]string{
		"speed 9": "none of service", "workers 0": "from 1", "workers many": "not a number", "workers 1\nworkers 2": "twice", "queue 5": "needs workers", "errors 5": "percentage",
		"warm-up 30s": "a time and a factor", "warm-up x 3": "duration", "warm-up 1s 0.5": "factor", "sigterm ignore": "stop or finish", "service fast": "not a duration", "workers 9999999": "not a number",
	} {
		if _, err := ParseProfile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
