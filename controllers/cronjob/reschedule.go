package cronjob

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/loop"
	"minikcm.dev/minikcm/controllers/plan"
)

// rescheduled reports whether an event changes the schedule of a CronJob. The CronJob is
// then reconciled at the next time of the new schedule, so that no Job starts for a time of
// the new schedule that is already past.
func rescheduled(ev loop.Event) (*batchv1.CronJob, bool) {
	old, _ := ev.Old.(*batchv1.CronJob)
	cj, ok := ev.Object.(*batchv1.CronJob)
	if !ok || old == nil || old.UID != cj.UID {
		return nil, false
	}
	return cj, old.Spec.Schedule != cj.Spec.Schedule || !ptr.Equal(old.Spec.TimeZone, cj.Spec.TimeZone)
}

// untilNext returns the time until the next time of a CronJob's schedule; 0 if there is
// none. It fails if the schedule cannot be parsed.
func untilNext(cj *batchv1.CronJob, now time.Time) (time.Duration, error) {
	schedule, err := parse(cj)
	if err != nil {
		return 0, err
	}
	if next := schedule.Next(now.UTC()); !next.IsZero() {
		return next.Sub(now), nil
	}
	return 0, nil
}

// unreadable returns the event about a new schedule that cannot be parsed.
func unreadable(cj *batchv1.CronJob) plan.Event {
	return plan.Event{
		Type: corev1.EventTypeWarning, Reason: "UnParseableCronJobSchedule", Message: "unparseable schedule for cronjob: " + cj.Spec.Schedule,
	}
}
