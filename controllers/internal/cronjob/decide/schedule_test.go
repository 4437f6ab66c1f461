package decide

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"minikcm.dev/minikcm/controllers/internal/cronjob/cronjobtest"
)

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
		got, err := UntilNext(cronjobtest.New(cronjobtest.Spec(func(s *batchv1.CronJobSpec) { s.Schedule = tc.schedule })), cronjobtest.Minute(5))
		if got != tc.want || (err != nil) != tc.err {
			t.Errorf("%s: %v, %v", tc.schedule, got, err)
		}
	}
	if e, want := Unreadable(cronjobtest.New()), "UnParseableCronJobSchedule: unparseable schedule for cronjob: */10 * * * *"; e.Reason+": "+e.Message != want {
		t.Errorf("the event is %+v, want %s", e, want)
	}
}

// at parses a time of 2026, in UTC unless it has a zone.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", time.RFC3339} {
		if parsed, err := time.Parse(layout, text); err == nil {
			return parsed
		}
	}
	t.Fatalf("%q is no time", text)
	return time.Time{}
}

func TestSince(t *testing.T) {
	for _, tc := range []struct {
		name, schedule, zone, from, now string
		recent, next                    string
		many                            bool
	}{
		{"none yet", "0 * * * *", "", "2026-03-01 10:00", "2026-03-01 10:59:59", "", "2026-03-01 11:00", false},
		{"just now", "0 * * * *", "", "2026-03-01 10:00", "2026-03-01 11:00", "2026-03-01 11:00", "2026-03-01 12:00", false},
		{"the last of several", "0 * * * *", "", "2026-03-01 10:00", "2026-03-01 13:30", "2026-03-01 13:00", "2026-03-01 14:00", false},
		{"a hundred are not many", "* * * * *", "", "2026-03-01 10:00", "2026-03-01 11:40", "2026-03-01 11:40", "2026-03-01 11:41", false},
		{"a hundred and one are", "* * * * *", "", "2026-03-01 10:00", "2026-03-01 11:41", "2026-03-01 11:41", "2026-03-01 11:42", true},
		{"a year of minutes", "* * * * *", "", "2025-03-01 10:00", "2026-03-01 10:00:30", "2026-03-01 10:00", "2026-03-01 10:01", true},
		{"uneven times after a pause", "0 9,10 * * 1", "", "2020-03-01 10:00", "2026-03-08 08:00", "2026-03-02 10:00", "2026-03-09 09:00", true},
		{"every", "@every 7m", "", "2026-03-01 10:00", "2026-03-01 10:15", "2026-03-01 10:14", "2026-03-01 10:21", false},
		{"every, long ago", "@every 7m", "", "2026-03-01 10:00", "2026-03-02 10:00", "2026-03-02 09:55", "2026-03-02 10:02", true},
		{"a macro", "@weekly", "", "2026-03-01 10:00", "2026-03-08 00:00", "2026-03-08 00:00", "2026-03-15 00:00", false},
		{"a zone", "30 9 * * *", "Asia/Kolkata", "2026-03-01 10:00", "2026-03-02 04:00", "2026-03-02 04:00", "2026-03-03 04:00", false},
		{"an hour that is left out", "30 2 * * *", "America/New_York", "2026-03-07 12:00", "2026-03-09 00:00", "", "2026-03-09 06:30", false},
		{"an hour that comes twice", "30 1 * * *", "America/New_York", "2026-10-31 12:00", "2026-11-01 05:30", "2026-11-01 05:30", "2026-11-01 06:30", false},
		{"the change of clocks", "0 12 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 10:00", "2026-03-29 10:00", "2026-03-30 10:00", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cj := &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: tc.schedule}}
			if tc.zone != "" {
				cj.Spec.TimeZone = &tc.zone
			}
			schedule, err := parse(cj)
			if err != nil {
				t.Fatal(err)
			}
			got, err := since(schedule, at(t, tc.from), at(t, tc.now))
			if err != nil {
				t.Fatal(err)
			}
			want := occasions{many: tc.many, next: at(t, tc.next)}
			if tc.recent != "" {
				want.recent = at(t, tc.recent)
			}
			if !got.recent.Equal(want.recent) || !got.next.Equal(want.next) || got.many != want.many {
				t.Errorf("recent %v, next %v, many %v; want %v, %v, %v", got.recent.UTC(), got.next.UTC(), got.many, want.recent, want.next, want.many)
			}
		})
	}
}

func TestNever(t *testing.T) {
	schedule, err := parse(&batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "59 23 31 2 *"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := since(schedule, at(t, "2026-01-01 00:00"), at(t, "2026-03-01 00:00")); err == nil {
		t.Errorf("the 31st of February was %+v", got)
	}
}

// TestMostRecentTime compares the fast search for the most recent time with the
// enumeration.
func TestMostRecentTime(t *testing.T) {
	field := func(t *rapid.T, low, high int, name string) string {
		return rapid.OneOf(rapid.Just("*"), rapid.StringMatching(`[0-9]`), rapid.Just("*/7")).Filter(func(s string) bool {
			return len(s) != 1 || s == "*" || int(s[0]-'0') >= low && int(s[0]-'0') <= high
		}).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := field(t, 0, 9, "minute") + " " + field(t, 0, 9, "hour") + " " + field(t, 1, 9, "day") + " * " + field(t, 0, 6, "weekday")
		if rapid.IntRange(0, 4).Draw(t, "every") == 0 {
			text = "@every " + (time.Duration(rapid.IntRange(1, 5000).Draw(t, "seconds")) * time.Second).String()
		}
		schedule, err := parse(&batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: text}})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		from := time.Unix(1_700_000_000, 0).UTC()
		now := from.Add(time.Duration(rapid.IntRange(0, 20*24*3600).Draw(t, "later")) * time.Second)
		got, err := since(schedule, from, now)
		if err != nil {
			t.Fatal(err)
		}
		var recent time.Time
		missed, next := 0, schedule.Next(from)
		for ; !next.IsZero() && !next.After(now); next = schedule.Next(next) {
			recent = next
			missed++
		}
		if !got.recent.Equal(recent) || !got.next.Equal(next) || got.many != (missed > manyMissed) {
			t.Fatalf("%q from %v to %v: %+v; want %v of %d, next %v", text, from, now, got, recent, missed, next)
		}
	})
}

func FuzzSchedule(f *testing.F) {
	for _, text := range []string{"* * * * *", "@every 1s", "TZ=UTC", "CRON_TZ=Europe/Berlin 0 6 * * ?", "@reboot", "1-70 * * * *", "@every 0s", "@every -1h"} {
		f.Add(text, "Etc/UTC")
	}
	f.Fuzz(func(t *testing.T, text, zone string) {
		cj := &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: text, TimeZone: ptr.To(zone)}}
		schedule, err := parse(cj)
		if err != nil {
			return
		}
		from := time.Unix(1_700_000_000, 0)
		now := from.Add(time.Hour)
		got, err := since(schedule, from, now)
		if err == nil && (got.recent.After(now) || !got.next.IsZero() && !got.next.After(now)) {
			t.Errorf("%q: %+v at %v", text, got, now)
		}
	})
}
