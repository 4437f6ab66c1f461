package decide

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/plan"
)

// manyMissed is the number of missed times from which an event reports them.
const manyMissed = 100

var errNever = errors.New("time difference between two schedules is less than 1 second")

// location returns the time zone of the schedule. Its default is UTC, unlike upstream's,
// which is the local zone of the process, so that a run does not depend on the machine.
func location(cj *batchv1.CronJob) (*time.Location, error) {
	if cj.Spec.TimeZone == nil {
		return time.UTC, nil
	}
	return time.LoadLocation(*cj.Spec.TimeZone)
}

// hasZone reports whether the schedule itself specifies a time zone.
func hasZone(schedule string) bool { return strings.Contains(schedule, "TZ") }

func parse(cj *batchv1.CronJob) (cron.Schedule, error) {
	text := cj.Spec.Schedule
	if !hasZone(text) && cj.Spec.TimeZone != nil {
		text = "TZ=" + *cj.Spec.TimeZone + " " + text
	}
	schedule, err := parseStandard(text)
	if err != nil {
		return nil, err
	}
	return schedule, nil
}

// parseStandard calls the library's parser, which panics on a zone without a schedule.
func parseStandard(text string) (_ cron.Schedule, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%v", value)
		}
	}()
	return cron.ParseStandard(text)
}

// occasions are the times of a schedule since it was last handled.
type occasions struct {
	// recent is the last time that has passed; zero: there is none.
	recent time.Time
	// many is true if more than manyMissed times have passed.
	many bool
	// next is the first time in the future.
	next time.Time
}

// since returns the times after from, until now.
func since(schedule cron.Schedule, from, now time.Time) (occasions, error) {
	from, now = from.UTC(), now.UTC()
	first := schedule.Next(from)
	if first.IsZero() {
		return occasions{}, errNever
	}
	if first.After(now) {
		return occasions{next: first}, nil
	}
	var o occasions
	t := first
	for missed := 1; !t.IsZero() && !t.After(now); t, missed = schedule.Next(t), missed+1 {
		o.recent = t
		if missed > manyMissed {
			o.many = true
			o.recent = last(schedule, first, now)
			t = schedule.Next(o.recent)
			break
		}
	}
	o.next = t
	return o, nil
}

// last returns the last time until now without enumerating all; first is one of them.
func last(schedule cron.Schedule, first, now time.Time) time.Time {
	if every, ok := schedule.(cron.ConstantDelaySchedule); ok {
		return first.Add(now.Sub(first) / every.Delay * every.Delay)
	}
	t := first
	for back := time.Minute; now.Add(-back).After(first); back *= 2 {
		if near := schedule.Next(now.Add(-back)); !near.IsZero() && !near.After(now) {
			t = near
			break
		}
	}
	for next := schedule.Next(t); !next.IsZero() && !next.After(now); next = schedule.Next(t) {
		t = next
	}
	return t
}

// UntilNext returns the time until the next time of a CronJob's schedule; 0 if there is
// none. It fails if the schedule cannot be parsed.
func UntilNext(cj *batchv1.CronJob, now time.Time) (time.Duration, error) {
	schedule, err := parse(cj)
	if err != nil {
		return 0, err
	}
	if next := schedule.Next(now.UTC()); !next.IsZero() {
		return next.Sub(now), nil
	}
	return 0, nil
}

// Unreadable returns the event about a new schedule that cannot be parsed.
func Unreadable(cj *batchv1.CronJob) plan.Event {
	return plan.Event{
		Type: corev1.EventTypeWarning, Reason: "UnParseableCronJobSchedule", Message: "unparseable schedule for cronjob: " + cj.Spec.Schedule,
	}
}
