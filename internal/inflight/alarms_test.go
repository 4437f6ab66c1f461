package inflight_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// FuzzAlarms compares alarms with a map from keys to times. A letter sets a key's alarm:
// a to d at so many seconds from now as the next letter is from a, A to D unless it is due
// before; a dot lets a second pass, and a minus takes the next key's alarm away.
func FuzzAlarms(f *testing.F) {
	for _, letters := range []string{"", "ac.bb..", "adAb..", "ac-a...", "AcAbAd....", "aa", "abbbcb.."} {
		f.Add(letters)
	}
	f.Fuzz(func(t *testing.T, letters string) {
		if len(letters) > 100 {
			t.Skip()
		}
		l := newLedger(t, false)
		v := newClock(t, l)
		var rung []string
		alarms := inflight.NewAlarms(v, func(key string) { rung = append(rung, fmt.Sprint(key, v.Since(epoch))) })
		defer alarms.Close()
		want := map[string]time.Time{}
		for i := 0; i < len(letters); i++ {
			key, delay := strings.ToLower(letters[i:i+1]), time.Second
			if i+1 < len(letters) && letters[i+1] >= 'a' && letters[i+1] <= 'f' {
				delay = time.Duration(letters[i+1]-'a'+1) * time.Second
			}
			due, known := want[key]
			at := v.Now().Add(delay)
			switch c := letters[i]; {
			case c >= 'a' && c <= 'd':
				want[key] = at
				alarms.Set(key, at)
			case c >= 'A' && c <= 'D':
				sooner := !known || at.Before(due)
				if sooner {
					want[key] = at
				}
				if got := alarms.Hasten(key, at); got != sooner {
					t.Fatalf("%q, %d: Hasten is %v", letters, i, got)
				}
			case c == '-':
				delete(want, "a")
				alarms.Set("a", time.Time{})
			case c == '.':
				rung = nil
				advance(t, v, time.Second)
				var expected []string
				for key, due := range want {
					if !due.After(v.Now()) {
						expected = append(expected, fmt.Sprint(key, v.Since(epoch)))
						delete(want, key)
					}
				}
				slices.Sort(expected)
				slices.Sort(rung)
				if !slices.Equal(rung, expected) {
					t.Fatalf("%q, %d: rang %v, want %v", letters, i, rung, expected)
				}
			}
		}
	})
}

// An alarm may set alarms, and none rings after Close.
func TestAlarmsThatSetAlarms(t *testing.T) {
	l := newLedger(t, false)
	v := newClock(t, l)
	rings := 0
	var alarms inflight.Alarms[string]
	alarms = inflight.NewAlarms(v, func(key string) {
		rings++
		alarms.Set(key, v.Now().Add(time.Second))
	})
	alarms.Set("a", v.Now().Add(time.Second))
	advance(t, v, 10*time.Second)
	alarms.Close()
	alarms.Set("b", v.Now())
	advance(t, v, 10*time.Second)
	if rings != 10 {
		t.Errorf("it rang %d times", rings)
	}
}
