package cronjob

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
)

// manyMissed is from how many missed times on it is told that they are many.
const manyMissed = 100

var errNever = errors.New("time difference between two schedules is less than 1 second")

// location is the time zone of the schedule. Where upstream uses the process's
// local one, it is UTC here, so that a run does not depend on the machine.
func location(cj *batchv1.CronJob) (*time.Location, error) {
	if cj.Spec.TimeZone == nil {
		return time.UTC, nil
	}
	return time.LoadLocation(*cj.Spec.TimeZone)
}

// hasZone reports whether the zone is in the schedule itself.
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

// parseStandard is the library's parser; it panics on a zone without a schedule.
func parseStandard(text string) (_ cron.Schedule, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%v", value)
		}
	}()
	return cron.ParseStandard(text)
}

// occasions is which times of a schedule have come since it was last heeded.
type occasions struct {
	// recent is the last of them; zero: there is none.
	recent time.Time
	// many: there are more than a hundred.
	many bool
	// next is the first time to come.
	next time.Time
}

// since finds the times after from, until now.
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

// last finds the last time until now without going through all, first being one.
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
