package scenarios

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/clock"
)

// parseClock reads virtual (which is also the empty text's meaning), real or
// scaled=N.
func parseClock(text string) (mode clock.Mode, factor float64, err error) {
	name, number, scaled := strings.Cut(text, "=")
	switch {
	case text == "" || text == string(clock.ModeVirtual):
		return clock.ModeVirtual, 0, nil
	case text == string(clock.ModeReal):
		return clock.ModeReal, 0, nil
	case scaled && name == string(clock.ModeScaled):
		if factor, err = strconv.ParseFloat(number, 64); err == nil && factor > 0 && !math.IsInf(factor, 1) {
			return clock.ModeScaled, factor, nil
		}
	}
	return "", 0, fmt.Errorf("%q is not a clock; write virtual, real, or scaled=60 for a cluster whose time runs 60 times faster", text)
}
