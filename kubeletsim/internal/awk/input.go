package awk

import (
	"bufio"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// read reads the next record of a reader, or of the inputs that the arguments name.
func (in *interpreter) read(from *reader) (string, bool) {
	if from != nil {
		return in.readOne(from)
	}
	for {
		if in.inputs == nil && !in.open() {
			return "", false
		}
		if line, ok := in.readOne(in.inputs); ok {
			return line, true
		}
		in.inputs = nil
	}
}

// open opens the next input; false if there is none.
func (in *interpreter) open() bool {
	for {
		argc, args := int(in.global("ARGC").value.num()), in.global("ARGV").elements()
		if in.next >= argc {
			if in.filename.value.isText {
				return false
			}
			in.set(in.filename, str(""))
			r, err := in.Host.Open("-")
			if err != nil {
				panic(failure{err})
			}
			in.inputs = &reader{bufio.NewReader(r)}
			return true
		}
		arg := args[numberText(float64(in.next), "%d")].str("%.6g")
		in.next++
		if variable, text, ok := strings.Cut(arg, "="); ok && identifier(variable) {
			in.setVariable(variable, text)
			continue
		}
		if arg == "" {
			continue
		}
		r, err := in.Host.Open(arg)
		in.set(in.filename, str(arg))
		in.set(in.fnr, num(0))
		if err != nil {
			in.Host.Failed(arg, err)
			in.code = 2
			in.filename.value.isText = true
			continue
		}
		in.inputs = &reader{bufio.NewReader(r)}
		return true
	}
}

func identifier(s string) bool {
	for i := range len(s) {
		if !letter(s[i]) && (i == 0 || !digit(s[i])) {
			return false
		}
	}
	return s != ""
}

func (in *interpreter) readOne(r *reader) (string, bool) {
	in.step()
	switch rs := in.str(in.rs.value); {
	case rs == "":
		return in.paragraph(r)
	case len(rs) > 1:
		panic(&UnsupportedError{"a regular expression as RS"})
	default:
		line, found := in.until(r, rs[0])
		return strings.TrimSuffix(line, rs), found
	}
}

func (in *interpreter) until(r *reader, separator byte) (string, bool) {
	var long []byte
	for {
		part, err := r.ReadSlice(separator)
		in.spend(3 * len(part))
		long = append(long, part...)
		switch {
		case err == nil:
			return string(long), true
		case err == io.EOF:
			return string(long), len(long) > 0
		case err != bufio.ErrBufferFull:
			panic(failure{err})
		}
	}
}

func (in *interpreter) paragraph(r *reader) (string, bool) {
	text := ""
	for {
		line, ok := in.until(r, '\n')
		switch {
		case !ok || line == "\n" && text != "":
			return strings.TrimSuffix(text, "\n"), text != ""
		case line != "\n":
			text = in.concat(text, line)
		}
	}
}

func (in *interpreter) count() {
	in.set(in.nr, num(in.nr.value.num()+1))
	in.set(in.fnr, num(in.fnr.value.num()+1))
}

// source returns the reader of a file of getline; nil if it cannot be opened.
func (in *interpreter) source(name string) *reader {
	if r := in.readers[name]; r != nil {
		return r
	}
	if len(in.readers) >= maxFiles {
		in.fail("too many open files")
	}
	r, err := in.Host.Open(name)
	if err != nil {
		return &reader{}
	}
	in.readers[name] = &reader{bufio.NewReader(r)}
	return in.readers[name]
}

func (in *interpreter) getline(to *place, from *reader) float64 {
	if from != nil && from.Reader == nil {
		return -1
	}
	line, ok := in.read(from)
	if !ok {
		return 0
	}
	if to == nil {
		in.setRecord(line)
	} else {
		in.assign(to, input(line))
	}
	if from == nil {
		in.count()
	} else if to == nil {
		in.set(in.nr, num(in.nr.value.num()+1))
	}
	return 1
}

func (in *interpreter) setRecord(line string) {
	in.reserve(len(line))
	in.Host.Release(len(in.line.text))
	in.line, in.split = input(line), false
}

func (in *interpreter) record() string { return in.line.text }

func (in *interpreter) splitRecord() {
	if in.split {
		return
	}
	in.split = true
	in.resize(0)
	for _, part := range in.parts(in.line.text, in.str(in.fs.value)) {
		in.reserve(elementBytes)
		in.fields = append(in.fields, input(part))
	}
	in.nf.value = num(float64(len(in.fields)))
}

// resize makes the record have n fields.
func (in *interpreter) resize(n int) {
	in.reserve(max(0, n-len(in.fields)) * elementBytes)
	in.Host.Release(max(0, len(in.fields)-n) * elementBytes)
	for len(in.fields) < n {
		in.fields = append(in.fields, value{})
	}
	in.fields = in.fields[:n]
	in.nf.value = num(float64(n))
}

func (in *interpreter) rebuild() {
	var parts []string
	for i, field := range in.fields {
		if i > 0 {
			parts = append(parts, in.str(in.ofs.value))
		}
		parts = append(parts, in.str(field))
	}
	line := in.concat(parts...)
	in.reserve(len(line))
	in.Host.Release(len(in.line.text))
	in.line = input(line)
}

func (in *interpreter) field(n int) value {
	switch {
	case n < 0:
		in.fail("a field has a negative number")
	case n == 0:
		return in.line
	}
	if in.splitRecord(); n > len(in.fields) {
		return value{}
	}
	return in.fields[n-1]
}

func (in *interpreter) setField(n int, v value) {
	switch {
	case n < 0 || n > maxFields:
		in.fail("a field is out of range")
	case n == 0:
		in.setRecord(in.str(v))
		return
	}
	in.splitRecord()
	if n > len(in.fields) {
		in.resize(n)
	}
	in.fields[n-1] = v
	in.rebuild()
}

// parts splits a text by a separator as FS is.
func (in *interpreter) parts(s, separator string) []string {
	in.spend(len(s) * 2)
	switch {
	case s == "":
		return nil
	case separator == " ":
		return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
	case separator == "":
		in.spend(len(s) * 16)
		return strings.Split(s, "")
	case len(separator) == 1 && separator != `\`:
		return strings.Split(s, separator)
	}
	re := in.cached(separator)
	if len(s) > maxSearched {
		in.fail("a text is too long to be split by a regular expression")
	}
	return re.Split(s, -1)
}

func compile(source string) *regexp.Regexp {
	if len(source) > maxRegexp {
		panic(&SyntaxError{"a regular expression is too long"})
	}
	re, err := regexp.Compile("(?s:" + source + ")")
	if err != nil {
		panic(&SyntaxError{"bad regular expression /" + source + "/"})
	}
	re.Longest()
	return re
}

func (in *interpreter) cached(source string) *regexp.Regexp {
	re := in.cache[source]
	if re == nil {
		if len(in.cache) >= maxPatterns {
			clear(in.cache)
		}
		re = compile(source)
		in.cache[source] = re
	}
	return re
}

// pattern returns the regular expression that an operand is, or whose text it has.
func (in *interpreter) pattern(o operand) *regexp.Regexp {
	if o.regexp != nil {
		return o.regexp
	}
	return in.cached(in.str(o.eval(in)))
}

func (in *interpreter) find(re *regexp.Regexp, s string) []int {
	if len(s) > maxSearched {
		in.fail("a text is too long for a regular expression")
	}
	return re.FindStringIndex(s)
}

func (in *interpreter) matches(re *regexp.Regexp, s string) bool { return in.find(re, s) != nil }

// substitute replaces the first match, or all.
func (in *interpreter) substitute(re *regexp.Regexp, with, s string, all bool) (string, int) {
	var b strings.Builder
	n, at := 0, 0
	for at <= len(s) && (all || n == 0) {
		in.step()
		rest := s[at:]
		bounds := in.find(re, rest)
		if bounds == nil || at > 0 && strings.HasPrefix(re.String(), "(?s:^") {
			break
		}
		n++
		replaced := replacement(with, rest[bounds[0]:bounds[1]])
		in.spend(bounds[1] + len(replaced) + 1)
		b.WriteString(rest[:bounds[0]])
		b.WriteString(replaced)
		at += bounds[1]
		if bounds[0] == bounds[1] {
			if at == len(s) {
				at++
				break
			}
			_, size := utf8.DecodeRuneInString(s[at:])
			b.WriteString(s[at : at+size])
			at += size
		} else if at == len(s) {
			break
		}
	}
	if at < len(s) {
		in.spend(len(s) - at)
		b.WriteString(s[at:])
	}
	return b.String(), n
}

// replacement replaces & by the matched text.
func replacement(with, matched string) string {
	if !strings.ContainsAny(with, `&\`) {
		return with
	}
	var b strings.Builder
	for i := 0; i < len(with); i++ {
		switch {
		case with[i] == '\\' && i+1 < len(with) && (with[i+1] == '&' || with[i+1] == '\\'):
			i++
			b.WriteByte(with[i])
		case with[i] == '&':
			b.WriteString(matched)
		default:
			b.WriteByte(with[i])
		}
	}
	return b.String()
}
