package fault

import (
	"fmt"
	"strconv"
	"strings"
)

// rateUnits are tc's units of bandwidths, in bits a second.
var rateUnits = map[string]float64{
	"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "bps": 8, "kbps": 8e3, "mbps": 8e6, "gbps": 8e9,
}

// ParseRate reads a bandwidth, in bits a second.
func ParseRate(text string) (int64, error) {
	digits := strings.TrimRightFunc(text, func(c rune) bool { return c < '0' || c > '9' })
	number, err := strconv.ParseFloat(digits, 64)
	unit, known := rateUnits[strings.ToLower(strings.TrimPrefix(text, digits))]
	if bits := number * unit; err == nil && known && bits >= 1 && bits <= 1e15 {
		return int64(bits), nil
	}
	return 0, fmt.Errorf("%q is not a bandwidth such as 1mbit, 64kbit or 1mbps (bytes a second)", text)
}
