package hunt_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/hunt"
)

// minikcm's own controllers are hunted as an operator, and one seed gives one hunt.
func TestControllers(t *testing.T) {
	t.Parallel()
	own := func() *hunt.Report {
		report, err := hunt.HuntControllers(t.Context(), "", hunt.Binary{Scenario: "testdata/rollout.yaml", Seed: 1, Trials: 12, Parallel: 2, Budget: 5 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	first := own()
	if first.Points < 8 || first.Tried != 12 || len(first.Findings) > 0 {
		t.Errorf("%d writes, %d runs, findings %+v", first.Points, first.Tried, first.Findings)
	}
	if second := own(); !reflect.DeepEqual(first, second) {
		t.Errorf("another hunt of the same seed differs: %+v, then %+v", first, second)
	}
}

// A selection is checked before the hunt.
func TestControllersMistakes(t *testing.T) {
	t.Parallel()
	for selection, want := range map[string]string{
		"gardener":                  `"gardener" is not a controller`,
		"node-lifecycle-controller": "cannot be hunted",
		"-*":                        "made no write in the undisturbed run",
	} {
		if _, err := hunt.HuntControllers(t.Context(), selection, hunt.Binary{Scenario: "testdata/rollout.yaml", Seed: 1, Trials: 1, Parallel: 1, Budget: time.Minute}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", selection, err, want)
		}
	}
}
