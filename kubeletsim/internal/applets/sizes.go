package applets

import (
	"math"
	"strconv"
	"strings"
)

// ParseSize parses a number of bytes or lines as programs take it: with one of the units b, k, K, M, G, or kB
// and the like for powers of 1000.
func ParseSize(text string) (int64, bool) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	if err != nil {
		return 0, false
	}
	unit := int64(1)
	switch suffix := text[end:]; suffix {
	case "":
	case "b":
		unit = 512
	case "c":
	case "k", "K", "KiB":
		unit = 1 << 10
	case "m", "M", "MiB":
		unit = 1 << 20
	case "g", "G", "GiB":
		unit = 1 << 30
	case "kB", "KB":
		unit = 1000
	case "MB":
		unit = 1000 * 1000
	case "GB":
		unit = 1000 * 1000 * 1000
	default:
		return 0, false
	}
	if n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// CompareVersions compares texts as sort -V does: numbers in them by their value.
func CompareVersions(a, b string) int {
	for a != "" && b != "" {
		textA, restA := digitSpan(a, false)
		textB, restB := digitSpan(b, false)
		if textA != textB {
			return strings.Compare(textA, textB)
		}
		numberA, nextA := digitSpan(restA, true)
		numberB, nextB := digitSpan(restB, true)
		x, y := strings.TrimLeft(numberA, "0"), strings.TrimLeft(numberB, "0")
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		if x != y {
			return strings.Compare(x, y)
		}
		a, b = nextA, nextB
	}
	return len(a) - len(b)
}

// digitSpan returns the digits, or the other characters, that a text begins with, and the rest.
func digitSpan(text string, digits bool) (begin, rest string) {
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9') == digits {
		end++
	}
	return text[:end], text[end:]
}
