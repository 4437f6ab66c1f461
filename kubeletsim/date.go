package kubeletsim

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// date writes the cluster's time, in UTC.
func (s *shell) date(args []string) error {
	format := "+%a %b %e %H:%M:%S UTC %Y"
	for _, arg := range args {
		switch {
		case arg == "-u" || arg == "--utc":
		case arg == "-Is" || arg == "-Iseconds" || arg == "--iso-8601=seconds":
			format = "+%FT%T+00:00"
		case strings.HasPrefix(arg, "+"):
			format = arg
		default:
			return errUnknown
		}
	}
	text, err := formatDate(s.dateAt(), format[1:])
	if err != nil {
		return err
	}
	s.out(text + "\n")
	return nil
}

// dateLayouts are the conversions of strftime(3) that have a layout of Go's.
var dateLayouts = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM",
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'j': "002", 'Z': "MST", 'z': "-0700",
	'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'R': "15:04",
}

func formatDate(t time.Time, format string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		layout, ok := dateLayouts[format[i]]
		switch {
		case ok:
			b.WriteString(t.Format(layout))
		case format[i] == 's':
			b.WriteString(strconv.FormatInt(t.Unix(), 10))
		case format[i] == 'N':
			fmt.Fprintf(&b, "%09d", t.Nanosecond())
		case format[i] == '%':
			b.WriteByte('%')
		default:
			return "", errUnknown
		}
	}
	return b.String(), nil
}
