package applets

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/span"
)

// ParseSleep parses an argument of sleep: a number with one of the units s, m, h and d, or
// infinity, which is span.Forever.
func ParseSleep(word string) (time.Duration, error) {
	if word == "infinity" || word == "inf" {
		return span.Forever, nil
	}
	text, unit := word, time.Second
	if n := len(word); n > 0 {
		switch word[n-1] {
		case 's':
			text = word[:n-1]
		case 'm':
			text, unit = word[:n-1], time.Minute
		case 'h':
			text, unit = word[:n-1], time.Hour
		case 'd':
			text, unit = word[:n-1], 24*time.Hour
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n != n {
		return 0, fmt.Errorf("%q is no time to sleep", word)
	}
	if n*float64(unit) >= float64(span.Forever) {
		return span.Forever, nil
	}
	return time.Duration(n * float64(unit)), nil
}

// dateLayout returns Go's layout for a conversion of strftime(3).
func dateLayout(c byte) (layout string, ok bool) {
	switch c {
	case 'Y':
		return "2006", true
	case 'y':
		return "06", true
	case 'm':
		return "01", true
	case 'd':
		return "02", true
	case 'e':
		return "_2", true
	case 'H':
		return "15", true
	case 'I':
		return "03", true
	case 'M':
		return "04", true
	case 'S':
		return "05", true
	case 'p':
		return "PM", true
	case 'a':
		return "Mon", true
	case 'A':
		return "Monday", true
	case 'b', 'h':
		return "Jan", true
	case 'B':
		return "January", true
	case 'j':
		return "002", true
	case 'Z':
		return "MST", true
	case 'z':
		return "-0700", true
	case 'F':
		return "2006-01-02", true
	case 'T':
		return "15:04:05", true
	case 'D':
		return "01/02/06", true
	case 'R':
		return "15:04", true
	}
	return "", false
}

// FormatDate formats a time like strftime(3). It keeps unknown conversions as they are; known
// is then false.
func FormatDate(t time.Time, format string) (text string, known bool) {
	known = true
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		layout, ok := dateLayout(format[i])
		switch {
		case ok:
			b.WriteString(t.Format(layout))
		case format[i] == 's':
			b.WriteString(strconv.FormatInt(t.Unix(), 10))
		case format[i] == 'N':
			fmt.Fprintf(&b, "%09d", t.Nanosecond())
		case format[i] == '%':
			b.WriteByte('%')
		case format[i] == 'n':
			b.WriteByte('\n')
		default:
			b.WriteString(format[i-1 : i+1])
			known = false
		}
	}
	return b.String(), known
}
