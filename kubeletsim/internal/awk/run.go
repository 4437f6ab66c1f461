package awk

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Host gives a program its files, its memory and its time.
type Host interface {
	// Reserve takes memory before it is used. Its error ends the program.
	Reserve(n int) error
	Release(n int)
	// Step is called for each statement.
	Step() error
	// Open opens a file to read, and Create one to write. "-" is the standard input.
	Open(name string) (io.Reader, error)
	// Failed is called for an input among the arguments that cannot be opened.
	Failed(name string, err error)
	Create(name string, appends bool) (io.Writer, error)
}

// Config is the input of a run.
type Config struct {
	Host Host
	Out  io.Writer
	// Environ becomes ENVIRON, Vars are the assignments of -v, and Args becomes ARGV.
	Environ map[string]string
	Vars    [][2]string
	Args    []string
	// Seed is the seed of rand.
	Seed uint64
}

const (
	elementBytes = 64
	// maxCalls bounds how deep functions call each other.
	maxCalls = 1000
	// maxSearched bounds a text that a regular expression searches without a pause.
	maxSearched = 256 << 10
	maxFiles    = 100
	maxPatterns = 200
	maxFields   = 1 << 20
)

// failure ends a program.
type failure struct{ err error }

type interpreter struct {
	Config
	out     io.Writer
	program *Program
	globals map[string]*cell
	frame   []*cell
	calls   int
	code    int
	result  value
	// temp is the memory of values that no variable holds.
	temp int
	// line is $0; fields are the others, once split is set. rebuilt is whether line follows from fields.
	line    value
	fields  []value
	split   bool
	inputs  *reader
	next    int
	readers map[string]*reader
	writers map[string]io.Writer
	cache   map[string]*regexp.Regexp
	random  uint64
	seed    float64

	fs, ofs, ors, rs, nr, fnr, nf, subsep, convert, ofmt, filename, rstart, rlength *cell
}

type reader struct{ *bufio.Reader }

// Run runs a program and returns its exit code.
func Run(program *Program, c Config) (code int, err error) {
	in := &interpreter{
		Config: c, out: c.Out, program: program, globals: map[string]*cell{}, readers: map[string]*reader{}, writers: map[string]io.Writer{}, cache: map[string]*regexp.Regexp{}, random: c.Seed, next: 1,
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		case *UnsupportedError:
			err = r
		case *SyntaxError:
			err = r
		default:
			panic(r)
		}
	}()
	in.start()
	in.everything()
	return in.code & 0xff, nil
}

func (in *interpreter) start() {
	variable := func(name string, v value) *cell {
		c := in.global(name)
		c.value = v
		return c
	}
	in.fs, in.ofs, in.ors, in.rs = variable("FS", str(" ")), variable("OFS", str(" ")), variable("ORS", str("\n")), variable("RS", str("\n"))
	in.nr, in.fnr, in.nf = variable("NR", num(0)), variable("FNR", num(0)), variable("NF", num(0))
	in.subsep, in.convert, in.ofmt, in.filename = variable("SUBSEP", str("\x1c")), variable("CONVFMT", str("%.6g")), variable("OFMT", str("%.6g")), variable("FILENAME", value{})
	in.rstart, in.rlength = variable("RSTART", num(0)), variable("RLENGTH", num(-1))
	env := in.global("ENVIRON").elements()
	for name, text := range in.Environ {
		in.spend(elementBytes)
		env[name] = input(text)
	}
	args := in.global("ARGV").elements()
	for i, arg := range in.Args {
		args[numberText(float64(i), "%d")] = input(arg)
	}
	variable("ARGC", num(float64(len(in.Args))))
	for _, pair := range in.Vars {
		in.setVariable(pair[0], pair[1])
	}
}

func (in *interpreter) setVariable(name, text string) {
	lexed := lexer{source: `"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(text) + `"`}
	in.set(in.global(name), input(lexed.next().text))
}

func (in *interpreter) everything() {
	ended := goesOn
	for _, s := range in.program.begin {
		if ended = in.do(s); ended == exits {
			break
		}
	}
	if ended != exits && len(in.program.rules)+len(in.program.end) > 0 {
		ended = in.records()
	}
	if ended == exits && len(in.program.begin) > 0 && len(in.program.rules) == 0 && len(in.program.end) == 0 {
		return
	}
	for _, s := range in.program.end {
		if in.do(s) == exits {
			return
		}
	}
}

// records applies the rules to each record.
func (in *interpreter) records() jump {
	for {
		line, ok := in.read(nil)
		if !ok {
			return goesOn
		}
		in.setRecord(line)
		in.count()
	rules:
		for _, r := range in.program.rules {
			mark := in.temp
			chosen := in.chosen(r)
			in.drop(mark)
			if !chosen {
				continue
			}
			if r.action == nil {
				in.write(in.out, in.record()+in.str(in.ors.value))
				continue
			}
			switch in.do(r.action) {
			case exits:
				return exits
			case nexts:
				break rules
			case nextFiles:
				in.inputs = nil
				break rules
			}
		}
	}
}

func (in *interpreter) chosen(r *rule) bool {
	in.step()
	switch {
	case r.from == nil:
		return true
	case r.to == nil:
		return r.from(in).holds()
	case !r.within && !r.from(in).holds():
		return false
	}
	r.within = !r.to(in).holds()
	return true
}

// do executes one statement, and releases the values that it has computed.
func (in *interpreter) do(s statement) jump {
	in.step()
	mark := in.temp
	j := s(in)
	in.drop(mark)
	return j
}

func (in *interpreter) step() {
	if err := in.Host.Step(); err != nil {
		panic(failure{err})
	}
}

func (in *interpreter) fail(why string) { panic(failure{errors.New(why)}) }

// spend reserves memory until the statement ends.
func (in *interpreter) spend(n int) {
	in.reserve(n)
	in.temp += n
}

func (in *interpreter) reserve(n int) {
	if err := in.Host.Reserve(n); err != nil {
		panic(failure{err})
	}
}

func (in *interpreter) drop(mark int) {
	in.Host.Release(in.temp - mark)
	in.temp = mark
}

func (in *interpreter) str(v value) string {
	if !v.isText && v.isNumber {
		in.spend(elementBytes)
	}
	return v.str(in.convert.value.text)
}

func (in *interpreter) concat(parts ...string) string {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	in.spend(n)
	return strings.Join(parts, "")
}

func (in *interpreter) global(name string) *cell {
	c := in.globals[name]
	if c == nil {
		c = &cell{}
		in.globals[name] = c
	}
	return c
}

// set makes a variable hold a value.
func (in *interpreter) set(c *cell, v value) {
	in.reserve(len(v.text))
	in.Host.Release(len(c.value.text))
	c.value = v
	if c == in.nf {
		n := int(v.num())
		if n < 0 || n > maxFields {
			in.fail("NF is out of range")
		}
		in.splitRecord()
		in.resize(n)
		in.rebuild()
	}
}

func (in *interpreter) load(to *place) value {
	switch {
	case to.field != nil:
		return in.field(int(to.field(in).num()))
	case to.key != nil:
		elements, key := to.cell(in).elements(), to.key(in)
		v, there := elements[key]
		if !there {
			in.reserve(elementBytes + len(key))
			elements[key] = v
		}
		return v
	}
	c := to.cell(in)
	if c == in.nf {
		in.splitRecord()
	}
	return c.value
}

func (in *interpreter) assign(to *place, v value) value {
	switch {
	case to.field != nil:
		in.setField(int(to.field(in).num()), v)
	case to.key != nil:
		in.put(to.cell(in).elements(), to.key(in), v)
	default:
		in.set(to.cell(in), v)
	}
	return v
}

func (in *interpreter) put(elements map[string]value, key string, v value) {
	old, there := elements[key]
	if !there {
		in.reserve(elementBytes + len(key))
	}
	in.reserve(len(v.text))
	in.Host.Release(len(old.text))
	elements[key] = v
}

func (in *interpreter) remove(elements map[string]value, key string) {
	if old, there := elements[key]; there {
		in.Host.Release(elementBytes + len(key) + len(old.text))
		delete(elements, key)
	}
}

func (in *interpreter) write(w io.Writer, s string) {
	if _, err := io.WriteString(w, s); err != nil {
		panic(failure{err})
	}
}

func (in *interpreter) target(name string, appends bool) io.Writer {
	if w := in.writers[name]; w != nil {
		return w
	}
	if len(in.writers) >= maxFiles {
		in.fail("too many open files")
	}
	w, err := in.Host.Create(name, appends)
	if err != nil {
		panic(failure{err})
	}
	in.writers[name] = w
	return w
}

func (in *interpreter) printed(list []expression, formatted bool) string {
	if formatted {
		return in.sprintf(list)
	}
	if len(list) == 0 {
		return in.concat(in.record(), in.str(in.ors.value))
	}
	var parts []string
	for i, e := range list {
		if i > 0 {
			parts = append(parts, in.str(in.ofs.value))
		}
		v := e(in)
		in.spend(elementBytes)
		parts = append(parts, v.str(in.ofmt.value.text))
	}
	return in.concat(append(parts, in.str(in.ors.value))...)
}

func (in *interpreter) sprintf(list []expression) string {
	format, args, n := in.str(list[0](in)), []value(nil), 0
	for _, e := range list[1:] {
		v := e(in)
		args = append(args, v)
		n += len(v.text)
	}
	in.spend(len(format) + n + 32*len(args))
	if i := strings.IndexAny(format, "123456789*"); i >= 0 {
		in.spend(maxWidth * strings.Count(format, "%") / 16)
	}
	s, err := sprintf(format, args, in.convert.value.text)
	if err != nil {
		panic(failure{err})
	}
	in.spend(len(s))
	return s
}

func runes(s string) int { return utf8.RuneCountInString(s) }
