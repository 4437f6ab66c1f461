package script

import (
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
)

// date writes the time of the cluster's clock, in UTC.
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
			return ErrNotPredictable
		}
	}
	text, known := applets.FormatDate(s.dateAt(), format[1:])
	if !known {
		return ErrNotPredictable
	}
	s.out(text + "\n")
	return nil
}
