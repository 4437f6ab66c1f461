package awk

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// testHost has some files, and a budget of memory and steps.
type testHost struct {
	files       map[string]string
	memory, max int
	steps       int
	written     map[string]*strings.Builder
}

var (
	errMemory = errors.New("out of memory")
	errSteps  = errors.New("too many steps")
)

func (h *testHost) Reserve(n int) error {
	if h.memory += n; h.memory > h.max {
		return errMemory
	}
	return nil
}

func (h *testHost) Release(n int) { h.memory -= n }

func (h *testHost) Step() error {
	if h.steps--; h.steps < 0 {
		return errSteps
	}
	return nil
}

func (h *testHost) Open(name string) (io.Reader, error) {
	content, ok := h.files[name]
	if !ok {
		return nil, os.ErrNotExist
	}
	return strings.NewReader(content), nil
}

func (h *testHost) Failed(string, error) {}

func (h *testHost) Create(name string, _ bool) (io.Writer, error) {
	h.written[name] = &strings.Builder{}
	return h.written[name], nil
}

func newTestHost(stdin string) *testHost {
	return &testHost{files: map[string]string{"-": stdin, "f": "1 2\n3 4\n"}, max: 8 << 20, steps: 1 << 20, written: map[string]*strings.Builder{}}
}

func TestAwk(t *testing.T) {
	for _, tt := range []struct {
		program, stdin, out string
		args                []string
		code                int
	}{
		{program: `{print $2}`, stdin: "a b\n c  d e\n", out: "b\nd\n"},
		{program: `{print $NF, NF; $2 = "x"; print; NF = 1; print}`, stdin: "a b c\n", out: "c 3\na x c\na\n"},
		{program: `/b/ {n++} END {print n+0, NR}`, stdin: "a\nb\nab\n", out: "2 3\n"},
		{program: `NR==1, NR==2`, stdin: "a\nb\nc\n", out: "a\nb\n"},
		{program: `BEGIN {FS=":"; OFS="-"} {print $1, $3}`, stdin: "a:b:c\n", out: "a-c\n"},
		{program: `{s[$1] += $2} END {for (k in s) print k, s[k]}`, stdin: "b 1\na 2\nb 3.5\n10 1\n9 1\n", out: "9 1\n10 1\na 2\nb 4.5\n"},
		{program: `BEGIN {printf "%5.2f|%-4s|%03d|%x|%c%c|%e|%g|%%\n", 3.14159, "ab", 7, 255, "hello", 65, 12345.678, 1e10}`, out: " 3.14|ab  |007|ff|hA|1.234568e+04|1e+10|%\n"},
		{program: `BEGIN {print length("héllo"), substr("hello", 2, 3), substr("hello", 0, 2), index("foobar", "bar"), toupper("aé"), tolower("ABC")}`, out: "5 ell h 4 AÉ abc\n"},
		{program: `{n = gsub(/o+/, "[&]"); print n, $0; sub(/b/, "\\&"); print}`, stdin: "foo boo\n", out: "2 f[oo] b[oo]\nf[oo] &[oo]\n"},
		{program: `BEGIN {s = "aaa"; print gsub(/x*/, "-", s), s; s = "abc"; gsub("", ".", s); print s; s = "aa"; gsub(/^a/, "b", s); print s}`, out: "4 -a-a-a-\n.a.b.c.\nba\n"},
		{program: `BEGIN {n = split("a:b:c", p, ":"); print n, p[1], p[3]; print split("", p), length(p); split("a1b22c", q, /[0-9]+/); print q[3]}`, out: "3 a c\n0 0\nc\n"},
		{program: `BEGIN {if (match("foobar", /o+/)) print RSTART, RLENGTH; print match("x", /y/), RSTART, RLENGTH}`, out: "2 2\n0 0 -1\n"},
		{program: `function f(n) { return n <= 1 ? 1 : n * f(n-1) } BEGIN {print f(10)}`, out: "3628800\n"},
		{program: "function fill(a, n,  i) {\n  for (i = 1; i <= n; i++)\n    a[i] = i * i\n}\nBEGIN { fill(x, 3); print x[3], length(x) }", out: "9 3\n"},
		{program: `BEGIN {i = 5; while (i > 0) {if (i == 2) break; i--; if (i == 3) continue; print i}; do print i--; while (i > 0)}`, out: "4\n2\n2\n1\n"},
		{program: `BEGIN {print 1==1.0, "a"<"b", 2<10, "2"<"10", 1 " " 2, 2^3^2, -2^2, 7%3, !0, 1-1 " x"}`, out: "1 1 1 0 1 2 512 -4 1 1 0 x\n"},
		{program: `$1 > 9 {print "big", $1} $1 ~ /^[0-9]+$/ && $2 !~ "x" {print "num"}`, stdin: "10 a\n9 x\nabc\n", out: "big 10\nnum\nbig abc\n"},
		{program: `{a[$1, $2] = 1} END {if (("x", "y") in a) print "in"; for (k in a) {split(k, p, SUBSEP); print p[2]}; delete a["x", "y"]; print length(a)}`, stdin: "x y\n", out: "in\ny\n0\n"},
		{program: `BEGIN {while ((getline line < "f") > 0) print "got", line; close("f"); getline < "f"; print $2; print (getline x < "none")}`, out: "got 1 2\ngot 3 4\n2\n-1\n"},
		{program: `NR == 1 {getline; print "second:", $0} END {print NR}`, stdin: "a\nb\nc\n", out: "second: b\n3\n"},
		{program: `{print FILENAME, FNR, NR, v}`, args: []string{"f", "v=2", "f"}, out: "f 1 1 \nf 2 2 \nf 1 3 2\nf 2 4 2\n"},
		{program: `BEGIN {RS = ""; FS = "\n"} {print NR ": " $1 "," $2}`, stdin: "a\nb\n\n\nc\nd\n", out: "1: a,b\n2: c,d\n"},
		{program: `BEGIN {RS = ";"} {print}`, stdin: "a;b;c", out: "a\nb\nc\n"},
		{program: `BEGIN {exit 3} END {print "end"}`, out: "end\n", code: 3},
		{program: `{if (/b/) next; print} END {exit}`, stdin: "a\nb\n", out: "a\n"},
		{program: `BEGIN {x["a"]; if ("a" in x) print "yes"; print x["a"] == 0, x["a"] == ""; print length()}`, out: "yes\n1 1\n0\n"},
		{program: `BEGIN { print substr("x/y", index("x/y", "/") + 1); print 6 / 2 / 3; print "a\tb\"c\\" }`, out: "y\n1\na\tb\"c\\\n"},
		{program: "# comment\nBEGIN {\n\tprint 1,\n\t\t2; print \"a\" \\\n\t\"b\" # end\n}\n", out: "1 2\nab\n"},
		{program: `/[/]x[^]a]/ {print "m"} /^\/a\.b/`, stdin: "/xb\n/a.b\n", out: "m\n/a.b\n"},
		{program: `BEGIN {print > "o"; print "b" >> "o"; printf("%s-%s\n", "x", "y") > "o"; print 100000 * 100000, 0.1 + 0.2, 1e6, 3.0, 1e300 * 1e300}`, out: "10000000000 0.3 1000000 3 inf\n"},
		{program: `{ $3 = "c"; print; print NF } END { $0 = "p q"; print $2 }`, stdin: "a\n", out: "a  c\n3\nq\n"},
		{program: `NF`, stdin: "a\n\nb\n", out: "a\nb\n"},
		{program: `!seen[$0]++`, stdin: "a\nb\na\n", out: "a\nb\n"},
		{program: `BEGIN { x = y = 2; x += y *= 3; print x, y, x++ + ++y, x " " y; print (1, 2) in a, (1 > 2 ? "a" : "b") }`, out: "8 6 15 9 7\n0 b\n"},
	} {
		host := newTestHost(tt.stdin)
		program, err := Parse(tt.program)
		if err != nil {
			t.Errorf("%s: %v", tt.program, err)
			continue
		}
		var out strings.Builder
		code, err := Run(program, Config{Host: host, Out: &out, Args: append([]string{"awk"}, tt.args...)})
		if out.String() != tt.out || code != tt.code || err != nil {
			t.Errorf("%s:\n got %q, %d, %v\nwant %q, %d", tt.program, out.String(), code, err, tt.out, tt.code)
		}
	}
}

// Whatever a program does, it stays within its budget and ends with an error.
func TestBudget(t *testing.T) {
	for program, want := range map[string]error{
		`BEGIN {s = "x"; while (1) s = s s}`:                           errMemory,
		`BEGIN {while (1) a[i++] = 1}`:                                 errMemory,
		`BEGIN {while (1) ;}`:                                          errSteps,
		`function f() { f() } BEGIN {f()}`:                             nil,
		`BEGIN {$1000000 = 1; while (1) $0 = $0 $0}`:                   errMemory,
		`BEGIN {s = sprintf("%60000d", 1); while (1) gsub(/ /, s, s)}`: errMemory,
		`BEGIN {printf "%100000000d", 1}`:                              errWidth,
		`BEGIN {NF = 1e9}`:                                             nil,
		`BEGIN {print 1 / 0}`:                                          nil,
	} {
		host := newTestHost("")
		parsed, err := Parse(program)
		if err == nil {
			_, err = Run(parsed, Config{Host: host, Out: io.Discard})
		}
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", program, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	var unsupported *UnsupportedError
	var syntax *SyntaxError
	for program, is := range map[string]any{
		`BEGIN {print strftime()}`: &unsupported, `BEGIN {print | "sort"}`: &unsupported, `BEGIN {system("x")}`: &unsupported,
		`BEGIN {"date" | getline}`: &unsupported, `BEGIN {while (("ls" | getline f) > 0) n++}`: &unsupported,
		`BEGIN {`: &syntax, `{print $}`: &syntax, `/[/`: &syntax, "BEGIN {x = \"a\n\"}": &syntax, `@`: &syntax, strings.Repeat("(", 1000): &syntax, `BEGIN {` + strings.Repeat("{", 1000): &syntax, `BEGIN {substr("x")}`: &syntax,
		`BEGIN {x = ` + strings.Repeat("!", 10000) + `1}`: &syntax, `BEGIN {x = ` + strings.Repeat("$", 10000) + `1}`: &syntax, strings.Repeat("x=", 5000) + "1": &syntax,
	} {
		if _, err := Parse(program); err == nil || !errors.As(err, is) {
			t.Errorf("%.50s: %v", program, err)
		}
	}
}

func FuzzAwk(f *testing.F) {
	for _, program := range []string{`{print $2}`, `BEGIN {for (k in a) {split(k, p, /x/); print p[1] > "o"}}`, `function f(a) {return a[1]} {gsub(/b*/, "&-"); f(x)}`, `BEGIN {while ((getline l < "f") > 0) printf "%5d %s", l, l}`} {
		f.Add(program)
	}
	f.Fuzz(func(_ *testing.T, program string) {
		host := newTestHost("a b\nc d\n")
		host.max, host.steps = 1<<20, 10000
		if parsed, err := Parse(program); err == nil {
			_, _ = Run(parsed, Config{Host: host, Out: io.Discard})
		}
	})
}
