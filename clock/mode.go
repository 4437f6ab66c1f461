package clock

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Mode names one of the three clocks, as the command line spells it.
type Mode string

// The three clocks.
const (
	ModeReal    Mode = "real"
	ModeScaled  Mode = "scaled"
	ModeVirtual Mode = "virtual"
)

// ParseMode reads virtual, real or scaled=N, where N is how many times faster than
// the machine's the time runs: a number above 0. The factor is 0 for the others.
func ParseMode(text string) (mode Mode, factor float64, err error) {
	name, number, scaled := strings.Cut(text, "=")
	switch Mode(name) {
	case ModeReal, ModeVirtual:
		if !scaled {
			return Mode(name), 0, nil
		}
	case ModeScaled:
		if factor, err = strconv.ParseFloat(number, 64); err == nil && factor > 0 && !math.IsInf(factor, 1) {
			return ModeScaled, factor, nil
		}
	}
	return "", 0, fmt.Errorf("%q is not a clock; write virtual, real, or scaled=60 for a cluster whose time runs 60 times faster", text)
}
