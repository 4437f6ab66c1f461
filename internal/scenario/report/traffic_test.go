package report

import (
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// Shares are plain percentages, and nearly all requests are not all.
func TestPercentOf(t *testing.T) {
	for _, test := range []struct {
		part, all int64
		want      string
	}{
		{0, 10, ""},
		{127, 127, " (100%)"},
		{997, 1000, " (99.7%)"},
		{131, 12127, " (1.1%)"},
		{1, 83000, " (0.0012%)"},
		{1, 2, " (50%)"},
		{999999, 1000000, " (99.9999%)"},
		{99999, 1000000, " (10%)"},
	} {
		if got := percentOf(test.part, test.all); got != test.want {
			t.Errorf("%d of %d are%s, not%s", test.part, test.all, got, test.want)
		}
	}
}

// Without an answer, there are no quantiles.
func TestNoQuantiles(t *testing.T) {
	lines := TrafficLines(&runrecord.Traffic{Name: "web", Requests: 5, Failed: 5, Warnings: []string{"there was no target"}})
	if got := strings.Join(lines, "\n"); got != "web: 5 requests, 5 failed (100%)\n  ! there was no target" {
		t.Error(got)
	}
}
