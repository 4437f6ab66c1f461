package cronjob

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/cronjob/cronjobtest"
	"minikcm.dev/minikcm/internal/loop"
)

func TestRescheduled(t *testing.T) {
	zone := func(s *batchv1.CronJobSpec) { s.TimeZone = ptr.To("Asia/Kolkata") }
	for name, tc := range map[string]struct {
		ev   loop.Event
		want bool
	}{
		"a new one":        {loop.Event{Object: cronjobtest.New()}, false},
		"something else":   {loop.Event{Type: loop.Updated, Old: cronjobtest.New(), Object: cronjobtest.New(cronjobtest.Deadline(1))}, false},
		"the schedule":     {loop.Event{Type: loop.Updated, Old: cronjobtest.New(), Object: cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.Schedule = "@daily" }))}, true},
		"the zone":         {loop.Event{Type: loop.Updated, Old: cronjobtest.New(), Object: cronjobtest.New(cronjobtest.Spec(zone))}, true},
		"the same zone":    {loop.Event{Type: loop.Updated, Old: cronjobtest.New(cronjobtest.Spec(zone)), Object: cronjobtest.New(cronjobtest.Spec(zone))}, false},
		"another's by now": {loop.Event{Type: loop.Updated, Old: cronjobtest.New(cronjobtest.Spec(zone)), Object: cronjobtest.New(func(cj *batchv1.CronJob) { cj.UID = "other" })}, false},
	} {
		if _, got := rescheduled(tc.ev); got != tc.want {
			t.Errorf("%s: rescheduled = %v, want %v", name, got, tc.want)
		}
	}
}
