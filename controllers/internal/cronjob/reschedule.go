package cronjob

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/loop"
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
