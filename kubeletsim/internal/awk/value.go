package awk

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// value is a number, a text, or an input that looks like a number and is both. The zero value is both, too.
type value struct {
	text   string
	number float64
	// isText and isNumber are both set for numeric input. Neither is set for a variable without a
	// value.
	isText, isNumber bool
}

func num(n float64) value { return value{number: n, isNumber: true} }
func str(s string) value  { return value{text: s, isText: true} }

func truth(holds bool) value {
	if holds {
		return num(1)
	}
	return num(0)
}

// input returns the value of a text that has been read.
func input(s string) value {
	trimmed := strings.Trim(s, " \t\n\r")
	if n := numberPrefix(trimmed); n > 0 && n == len(trimmed) {
		f, _ := strconv.ParseFloat(trimmed, 64)
		return value{text: s, number: f, isText: true, isNumber: true}
	}
	return str(s)
}

func (v value) num() float64 {
	if v.isNumber || !v.isText {
		return v.number
	}
	trimmed := strings.TrimLeft(v.text, " \t\n\r")
	f, _ := strconv.ParseFloat(trimmed[:numberPrefix(trimmed)], 64)
	return f
}

func (v value) holds() bool {
	if v.isText && !v.isNumber {
		return v.text != ""
	}
	return v.number != 0
}

// str returns the text of a value, for which a number has a format.
func (v value) str(format string) string {
	if v.isText || !v.isNumber {
		return v.text
	}
	return numberText(v.number, format)
}

func numberText(n float64, format string) string {
	switch {
	case math.IsNaN(n):
		return "nan"
	case math.IsInf(n, 1):
		return "inf"
	case math.IsInf(n, -1):
		return "-inf"
	case n == math.Trunc(n) && math.Abs(n) < 1e16:
		return strconv.FormatInt(int64(n), 10)
	}
	if format == "%.6g" {
		return formatG(n, 6, false)
	}
	s, _ := sprintf(format, []value{num(n)}, "%.6g")
	return s
}

// compare compares numbers by value if both are or look like numbers, and texts otherwise.
func compare(a, b value) int {
	if (a.isNumber || !a.isText) && (b.isNumber || !b.isText) {
		return cmp.Compare(a.number, b.number)
	}
	return strings.Compare(a.str("%.6g"), b.str("%.6g"))
}

// cell is a variable: a value, or an array.
type cell struct {
	value value
	array map[string]value
	// origin is the variable whose array this parameter is, once it has one.
	origin *cell
}

func (c *cell) elements() map[string]value {
	if c.array == nil {
		if c.origin != nil {
			c.array = c.origin.elements()
		} else {
			c.array = map[string]value{}
		}
	}
	return c.array
}

// keys returns the keys of an array: numbers in their order, then others.
func keys(array map[string]value) []string {
	return slices.SortedFunc(maps.Keys(array), func(a, b string) int {
		x, y := input(a), input(b)
		switch {
		case x.isNumber && y.isNumber && x.number != y.number:
			return cmp.Compare(x.number, y.number)
		case x.isNumber != y.isNumber && x.isNumber:
			return -1
		case x.isNumber != y.isNumber:
			return 1
		}
		return strings.Compare(a, b)
	})
}
