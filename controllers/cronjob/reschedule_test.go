package cronjob

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/loop"
)

func TestRescheduled(t *testing.T) {
	zone := func(s *batchv1.CronJobSpec) { s.TimeZone = ptr.To("Asia/Kolkata") }
	for name, tc := range map[string]struct {
		ev   loop.Event
		want bool
	}{
		"a new one":        {loop.Event{Object: newCronJob()}, false},
		"something else":   {loop.Event{Type: loop.Updated, Old: newCronJob(), Object: newCronJob(deadline(1))}, false},
		"the schedule":     {loop.Event{Type: loop.Updated, Old: newCronJob(), Object: newCronJob(spec(func(s *batchv1.CronJobSpec) { s.Schedule = "@daily" }))}, true},
		"the zone":         {loop.Event{Type: loop.Updated, Old: newCronJob(), Object: newCronJob(spec(zone))}, true},
		"the same zone":    {loop.Event{Type: loop.Updated, Old: newCronJob(spec(zone)), Object: newCronJob(spec(zone))}, false},
		"another's by now": {loop.Event{Type: loop.Updated, Old: newCronJob(spec(zone)), Object: newCronJob(func(cj *batchv1.CronJob) { cj.UID = "other" })}, false},
	} {
		if _, got := rescheduled(tc.ev); got != tc.want {
			t.Errorf("%s: rescheduled = %v, want %v", name, got, tc.want)
		}
	}
}

func TestUntilNext(t *testing.T) {
	for _, tc := range []struct {
		schedule string
		want     time.Duration
		err      bool
	}{
		{schedule: "*/10 * * * *", want: 5 * time.Minute},
		{schedule: "5 * * * *", want: time.Hour},
		{schedule: "0 0 31 2 *"},
		{schedule: "x", err: true},
	} {
		got, err := untilNext(newCronJob(spec(func(s *batchv1.CronJobSpec) { s.Schedule = tc.schedule })), minute(5))
		if got != tc.want || (err != nil) != tc.err {
			t.Errorf("%s: %v, %v", tc.schedule, got, err)
		}
	}
	if e, want := unreadable(newCronJob()), "UnParseableCronJobSchedule: unparseable schedule for cronjob: */10 * * * *"; e.Reason+": "+e.Message != want {
		t.Errorf("the event is %+v, want %s", e, want)
	}
}
