package applets

import (
	"strconv"
	"strings"
	"time"
)

// dateLayouts are the absolute times that ParseDate reads, the longest first.
func dateLayouts() []string {
	return []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02 15:04",
		"2006-01-02", "20060102", "2006/01/02", "01/02/2006", time.RFC1123Z, time.RFC1123, time.UnixDate, time.ANSIC, "Jan _2 15:04:05 2006 MST", "Jan _2 2006", "_2 Jan 2006", "15:04:05", "15:04",
	}
}

// ParseDate reads a time as date -d does: a number of seconds after @, an absolute time in UTC, or one relative
// to now such as "1 day ago" and "next week". An absolute time may precede a relative one.
func ParseDate(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if seconds, ok := strings.CutPrefix(text, "@"); ok {
		n, err := strconv.ParseFloat(seconds, 64)
		if err != nil || n > 1e11 || n < -1e11 {
			return time.Time{}, false
		}
		return time.Unix(0, int64(n*1e9)).UTC(), true
	}
	words := strings.Fields(strings.ReplaceAll(text, "+ ", "+"))
	for n := len(words); n > 0; n-- {
		if at, ok := absoluteDate(strings.Join(words[:n], " "), now); ok {
			return relativeDate(words[n:], at)
		}
	}
	return relativeDate(words, now.UTC())
}

func absoluteDate(text string, now time.Time) (time.Time, bool) {
	for _, layout := range dateLayouts() {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if at.Year() == 0 { // a time of today
			year, month, day := now.UTC().Date()
			at = time.Date(year, month, day, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
		}
		return at.UTC(), true
	}
	return time.Time{}, false
}

// relativeDate moves a time by words such as "2 hours ago", "+1 day", "yesterday".
func relativeDate(words []string, at time.Time) (time.Time, bool) {
	for i := 0; i < len(words); i++ {
		word := strings.ToLower(strings.TrimSuffix(words[i], ","))
		switch word {
		case "now", "today", "utc", "z", "gmt":
			continue
		case "yesterday":
			at = at.AddDate(0, 0, -1)
			continue
		case "tomorrow":
			at = at.AddDate(0, 0, 1)
			continue
		}
		if day, ok := weekday(word); ok {
			at = onWeekday(at, day, 0)
			continue
		}
		if i+1 < len(words) && (word == "next" || word == "last" || word == "this") {
			if day, ok := weekday(strings.ToLower(words[i+1])); ok {
				at = onWeekday(at, day, map[string]int{"next": 1, "last": -1}[word])
				i++
				continue
			}
		}
		n, unit := 1, word
		switch number, err := strconv.Atoi(word); {
		case word == "next":
			unit = ""
		case word == "last":
			n, unit = -1, ""
		case err == nil:
			n, unit = number, ""
		default: // 1day
			digits := strings.TrimRight(word, "abcdefghijklmnopqrstuvwxyz")
			if number, err := strconv.Atoi(digits); err == nil {
				n, unit = number, word[len(digits):]
			}
		}
		if unit == "" {
			if i++; i == len(words) {
				return at, false
			}
			unit = strings.ToLower(words[i])
		}
		if i+1 < len(words) && strings.EqualFold(words[i+1], "ago") {
			n = -n
			i++
		}
		var ok bool
		if at, ok = moveDate(at, n, unit); !ok {
			return at, false
		}
	}
	return at, true
}

func moveDate(at time.Time, n int, unit string) (time.Time, bool) {
	const most = 1e6
	if n > most || n < -most {
		seconds := unit == "seconds" || unit == "second" || unit == "sec"
		if !seconds || n > 1e10 || n < -1e10 {
			return at, false
		}
		return time.Unix(at.Unix()+int64(n), 0).UTC(), true
	}
	switch strings.TrimSuffix(unit, "s") {
	case "sec", "second", "":
		return at.Add(time.Duration(n) * time.Second), true
	case "min", "minute":
		return at.Add(time.Duration(n) * time.Minute), true
	case "hour":
		return at.Add(time.Duration(n) * time.Hour), true
	case "day":
		return at.AddDate(0, 0, n), true
	case "week":
		return at.AddDate(0, 0, 7*n), true
	case "fortnight":
		return at.AddDate(0, 0, 14*n), true
	case "month":
		return at.AddDate(0, n, 0), true
	case "year":
		return at.AddDate(n, 0, 0), true
	}
	return at, false
}

// weekday returns the day that a word such as "mon" or "monday" names.
func weekday(word string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if name := strings.ToLower(day.String()); len(word) >= 3 && strings.HasPrefix(name, word) {
			return day, true
		}
	}
	return 0, false
}

// onWeekday returns the start of the first such day from at on, or of the next (1) or last (-1) one.
func onWeekday(at time.Time, day time.Weekday, which int) time.Time {
	ahead := (int(day-at.Weekday()) + 7) % 7
	switch {
	case which > 0 && ahead == 0:
		ahead = 7
	case which < 0:
		ahead -= 7
	}
	return time.Date(at.Year(), at.Month(), at.Day()+ahead, 0, 0, 0, 0, at.Location())
}
