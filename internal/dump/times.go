package dump

import (
	"strconv"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// maxTime is the length of the longest format of a time: RFC 3339 with microseconds.
const maxTime = len("2006-01-02T15:04:05.000000Z")

// timeOf parses a time as the API formats it. ok is false if the text is not a time.
func timeOf(text string) (t time.Time, layout string, ok bool) {
	if len(text) < len("2006-01-02T15:04:05Z") || len(text) > maxTime || text[4] != '-' || text[10] != 'T' {
		return time.Time{}, "", false
	}
	layout = time.RFC3339
	if len(text) == maxTime {
		layout = "2006-01-02T15:04:05.000000Z07:00"
	}
	t, err := time.Parse(layout, text)
	return t, layout, err == nil
}

// eachTime calls use for every time within a value.
func eachTime(value any, use func(time.Time)) {
	eachText(value, func(text string) string {
		if t, _, ok := timeOf(text); ok {
			use(t)
		}
		return text
	})
}

// shiftTimes shifts every time within a value by d, so that an event one minute before the
// dump is one minute before the load.
func shiftTimes(value any, d time.Duration) {
	eachText(value, func(text string) string {
		if t, layout, ok := timeOf(text); ok {
			return t.Add(d).UTC().Format(layout)
		}
		return text
	})
}

// eachText replaces every string within maps and lists, except for keys.
func eachText(value any, replace func(string) string) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if text, ok := inner.(string); ok {
				if changed := replace(text); changed != text {
					value[key] = changed
				}
				continue
			}
			eachText(inner, replace)
		}
	case []any:
		for i, inner := range value {
			if text, ok := inner.(string); ok {
				value[i] = replace(text)
				continue
			}
			eachText(inner, replace)
		}
	}
}
