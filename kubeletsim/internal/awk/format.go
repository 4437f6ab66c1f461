package awk

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxWidth bounds the width and precision of a conversion.
const maxWidth = 64 << 10

var errWidth = errors.New("a format is too wide")

// sprintf formats values. It is an error if a conversion is too wide.
func sprintf(format string, args []value, convert string) (string, error) {
	var b strings.Builder
	next := func() value {
		if len(args) == 0 {
			return value{}
		}
		v := args[0]
		args = args[1:]
		return v
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		spec := "%"
		for i++; i < len(format) && strings.IndexByte("-+ #0123456789.*lhq", format[i]) >= 0; i++ {
			switch format[i] {
			case '*':
				spec += strconv.Itoa(int(max(-maxWidth-1, min(next().num(), maxWidth+1))))
			case 'l', 'h', 'q':
			default:
				spec += string(format[i])
			}
		}
		if i == len(format) {
			b.WriteString(spec)
			break
		}
		for _, part := range strings.FieldsFunc(spec, func(r rune) bool { return r < '0' || r > '9' }) {
			if n, err := strconv.Atoi(part); err != nil || n > maxWidth {
				return "", errWidth
			}
		}
		convertOne(&b, spec, format[i], next, convert)
	}
	return b.String(), nil
}

func convertOne(b *strings.Builder, spec string, verb byte, next func() value, convert string) {
	switch verb {
	case '%':
		b.WriteByte('%')
	case 'd', 'i':
		if n := math.Trunc(next().num()); math.Abs(n) < 1<<63 {
			fmt.Fprintf(b, spec+"d", int64(n))
		} else {
			fmt.Fprintf(b, spec+".0f", n)
		}
	case 'o', 'x', 'X', 'u':
		if verb == 'u' {
			verb = 'd'
		}
		fmt.Fprintf(b, spec+string(verb), uint64(int64(next().num())))
	case 'c':
		v := next()
		char := v.text
		if !v.isText {
			char = string(rune(int32(v.number)))
		} else if char != "" {
			char = string([]rune(char[:min(4, len(char))])[:1])
		}
		fmt.Fprintf(b, spec+"s", char)
	case 's':
		fmt.Fprintf(b, spec+"s", next().str(convert))
	case 'e', 'E', 'f', 'F':
		fmt.Fprintf(b, spec+string(verb), next().num())
	case 'g', 'G':
		n, flags := next().num(), strings.TrimLeft(spec[1:], "-+ #0")
		_, text, given := strings.Cut(flags, ".")
		precision := 6
		if given {
			precision, _ = strconv.Atoi(text)
		}
		width, _, _ := strings.Cut(spec, ".")
		fmt.Fprintf(b, width+"s", formatG(n, max(precision, 1), verb == 'G'))
	default:
		b.WriteString(spec + string(verb))
	}
}

// formatG is %.Ng of C.
func formatG(n float64, precision int, upper bool) string {
	s := strconv.FormatFloat(n, 'e', precision-1, 64)
	mantissa, exponent, found := strings.Cut(s, "e")
	if e, _ := strconv.Atoi(exponent); found && e >= -4 && e < precision {
		mantissa, exponent = strconv.FormatFloat(n, 'f', precision-1-e, 64), ""
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if exponent != "" {
		mantissa += "e" + exponent
	}
	if upper {
		mantissa = strings.ToUpper(mantissa)
	}
	return mantissa
}
