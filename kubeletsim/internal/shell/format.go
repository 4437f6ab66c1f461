package shell

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// escapeKind is whose escape sequences are meant.
type escapeKind int

const (
	echoEscapes escapeKind = iota
	printfEscapes
	ansiEscapes
)

// escapes replaces escape sequences. stop is whether \c ends the output.
func escapes(text string, kind escapeKind) (result string, stop bool) {
	if strings.IndexByte(text, '\\') < 0 {
		return text, false
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'a':
			b.WriteByte('\a')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'v':
			b.WriteByte('\v')
		case 'e', 'E':
			b.WriteByte(0x1b)
		case '\\':
			b.WriteByte('\\')
		case 'c':
			if kind != ansiEscapes {
				return b.String(), true
			}
			b.WriteString(`\c`)
		case '\'', '"', '?':
			if kind == echoEscapes {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		case 'x':
			n := digits(text[i+1:], 2, 16)
			writeCode(&b, text[i+1:i+1+n], 16, `\x`)
			i += n
		case 'u', 'U':
			most := 4
			if c == 'U' {
				most = 8
			}
			n := digits(text[i+1:], most, 16)
			if code, err := strconv.ParseUint(text[i+1:i+1+n], 16, 32); err == nil && utf8.ValidRune(rune(code)) {
				b.WriteRune(rune(code))
			}
			i += n
		case '0', '1', '2', '3', '4', '5', '6', '7':
			from, most := i, 3
			if kind == echoEscapes {
				if c != '0' {
					b.WriteByte('\\')
					b.WriteByte(c)
					continue
				}
				from++
			}
			n := digits(text[from:], most, 8)
			if n == 0 {
				b.WriteByte(0)
				continue
			}
			writeCode(&b, text[from:from+n], 8, "")
			i = from + n - 1
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), false
}

func digits(text string, most, base int) int {
	n := 0
	for n < len(text) && n < most {
		if _, err := strconv.ParseUint(text[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	return n
}

func writeCode(b *strings.Builder, text string, base int, otherwise string) {
	code, err := strconv.ParseUint(text, base, 16)
	if err != nil {
		b.WriteString(otherwise)
		return
	}
	b.WriteByte(byte(code))
}

func printfBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	args = args[1:]
	into := ""
	if len(args) > 2 && args[0] == "-v" {
		into, args = args[1], args[2:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		s.complain("printf: usage: printf FORMAT [ARG]...")
		return 2, nil
	}
	f := &formatting{Shell: s, args: args[1:]}
	for {
		if err := s.turn.Step(ctx); err != nil {
			return 1, err
		}
		before := len(f.args)
		stop, err := f.format(args[0])
		if err != nil {
			return 1, err
		}
		if stop || len(f.args) == 0 || len(f.args) == before {
			break
		}
	}
	if into != "" {
		return f.status, s.assign(into, f.out.String())
	}
	if err := s.files[1].write(ctx, f.out.String()); err != nil {
		return 1, err
	}
	return f.status, nil
}

// formatting is one call of printf.
type formatting struct {
	*Shell
	args   []string
	out    strings.Builder
	status int
}

func (f *formatting) write(text string) error {
	if err := f.hold(2 * len(text)); err != nil {
		return err
	}
	f.out.WriteString(text)
	return nil
}

func (f *formatting) next() string {
	if len(f.args) == 0 {
		return ""
	}
	arg := f.args[0]
	f.args = f.args[1:]
	return arg
}

// format writes a format once. stop is whether \c ended the output.
func (f *formatting) format(format string) (stop bool, err error) {
	for format != "" {
		i := strings.IndexByte(format, '%')
		plain := format
		if i >= 0 {
			plain = format[:i]
		}
		text, stop := escapes(plain, printfEscapes)
		if err := f.write(text); err != nil || stop {
			return stop, err
		}
		if i < 0 {
			return false, nil
		}
		format = format[i+1:]
		n, stop, err := f.conversion(format)
		if err != nil || stop {
			return stop, err
		}
		format = format[n:]
	}
	return false, nil
}

// maxPrecision bounds the digits of a number.
const maxPrecision = 1000

// conversion writes one conversion, and returns the number of bytes of the format that it takes.
func (f *formatting) conversion(format string) (n int, stop bool, err error) {
	for n < len(format) && strings.IndexByte("-+ #0", format[n]) >= 0 {
		n++
	}
	flags := format[:n]
	width, n := f.size(format, n)
	precision, hasPrecision := 0, false
	if n < len(format) && format[n] == '.' {
		hasPrecision = true
		precision, n = f.size(format, n+1)
	}
	if width < 0 {
		flags, width = flags+"-", -width
	}
	for n < len(format) && strings.IndexByte("hlLqjzt", format[n]) >= 0 && n+1 < len(format) && strings.IndexByte("hlLqjztdiouxXcsbfeEgG", format[n+1]) >= 0 {
		n++
	}
	if n >= len(format) {
		return n, false, f.write("%" + format)
	}
	verb := format[n]
	n++
	if len(f.args) > 0 && unknown.In(f.args[0]) && strings.IndexByte("diouxXfeEgGFc", verb) >= 0 {
		f.next()
		return n, false, f.write(unknown.Text)
	}
	if verb == '%' {
		return n, false, f.write("%")
	}
	text, stop, ok := f.convert(verb, flags, precision, hasPrecision)
	if !ok {
		f.complain("printf: %%%c: invalid format", verb)
		f.status = 1
		return n, true, nil
	}
	missing := width - utf8.RuneCountInString(text)
	if missing > 0 {
		if err := f.hold(2 * missing); err != nil {
			return n, false, err
		}
		switch {
		case strings.Contains(flags, "-"):
			text += strings.Repeat(" ", missing)
		case strings.Contains(flags, "0") && strings.IndexByte("sbcq", verb) < 0 && !(hasPrecision && strings.IndexByte("diouxX", verb) >= 0):
			sign := ""
			if text != "" && strings.IndexByte("+- ", text[0]) >= 0 {
				sign, text = text[:1], text[1:]
			}
			text = sign + strings.Repeat("0", missing) + text
		default:
			text = strings.Repeat(" ", missing) + text
		}
	}
	return n, stop, f.write(text)
}

// size reads a width or precision: a number, or * for an argument.
func (f *formatting) size(format string, n int) (int, int) {
	if n < len(format) && format[n] == '*' {
		size, _ := strconv.ParseInt(f.next(), 10, 32)
		return int(size), n + 1
	}
	from := n
	for n < len(format) && format[n] >= '0' && format[n] <= '9' {
		n++
	}
	size, err := strconv.ParseInt(format[from:n], 10, 32)
	if err != nil && n > from {
		size = 1 << 31
	}
	return int(size), n
}

func (f *formatting) convert(verb byte, flags string, precision int, hasPrecision bool) (text string, stop, ok bool) {
	switch verb {
	case 's', 'b', 'q':
		text = f.next()
		switch verb {
		case 'b':
			text, stop = escapes(text, echoEscapes)
		case 'q':
			text = quoteIfNeeded(text)
		}
		if hasPrecision {
			text = text[:byteOf(text, int64(max(precision, 0)))]
		}
		return text, stop, true
	case 'c':
		text = f.next()
		_, n := firstRune(text)
		return text[:n], false, true
	case 'd', 'i':
		n := f.integer()
		text = strconv.FormatInt(n, 10)
		sign := ""
		if n < 0 {
			sign, text = "-", text[1:]
		} else if strings.Contains(flags, "+") {
			sign = "+"
		} else if strings.Contains(flags, " ") {
			sign = " "
		}
		return sign + zeros(text, precision), false, true
	case 'u', 'o', 'x', 'X':
		base, prefix := 10, ""
		switch verb {
		case 'o':
			base, prefix = 8, "0"
		case 'x', 'X':
			base, prefix = 16, "0"+string(verb)
		}
		text = strconv.FormatUint(uint64(f.integer()), base)
		if verb == 'X' {
			text = strings.ToUpper(text)
		}
		text = zeros(text, precision)
		if strings.Contains(flags, "#") && text != "0" {
			text = prefix + text
		}
		return text, false, true
	case 'f', 'e', 'E', 'g', 'G', 'F':
		if !hasPrecision {
			precision = 6
		}
		layout := "%." + strconv.Itoa(min(max(precision, 0), maxPrecision)) + string(verb)
		if strings.Contains(flags, "+") {
			layout = "%+" + layout[1:]
		}
		return fmt.Sprintf(layout, f.float()), false, true
	}
	return "", false, false
}

func zeros(text string, precision int) string {
	if missing := min(precision, maxPrecision) - len(text); missing > 0 {
		return strings.Repeat("0", missing) + text
	}
	return text
}

func (f *formatting) integer() int64 {
	text := f.next()
	switch {
	case text == "":
		return 0
	case text[0] == '\'' || text[0] == '"':
		r, n := firstRune(text[1:])
		if n == 0 {
			return 0
		}
		return int64(r)
	}
	trimmed := strings.TrimPrefix(strings.TrimSpace(text), "+")
	n, ok := int64(0), false
	if trimmed != "" && !strings.Contains(trimmed, "#") {
		n, ok = number(trimmed)
	}
	if !ok {
		end := digits(strings.TrimLeft(text, " -+"), 18, 10)
		f.complain("printf: %s: invalid number", text)
		f.status = 1
		n, _ = strconv.ParseInt(strings.TrimLeft(text, " -+")[:end], 10, 64)
	}
	return n
}

func (f *formatting) float() float64 {
	text := f.next()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		f.complain("printf: %s: invalid number", text)
		f.status = 1
	}
	return n
}
