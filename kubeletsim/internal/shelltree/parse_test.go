package shelltree

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"minikcm.dev/minikcm/clock"
)

// nestings are the ways in which a script's syntax nests: what opens one level, and what is within the last.
var nestings = map[string][2]string{
	"parentheses":       {"(", ":"},
	"arithmetic":        {"((", "1"},
	"expansion":         {"echo $((", "1"},
	"arithmetic parens": {"echo $((" + "(", "1"},
	"substitution":      {"echo $(", ":"},
	"backquotes":        {"echo `", ":"},
	"parameter":         {"${a:-", "x"},
	"quoted parameter":  {`"${a:-`, "x"},
	"quoted":            {`echo "$(`, ":"},
	"mixed quotes":      {`echo "$(echo '` + `'${a:-"`, "x"},
	"slice":             {"${a:", "1"},
	"index":             {"${a[", "1"},
	"replace":           {"${a/", "x"},
	"arith index":       {"a[", "1"},
	"brace":             {"{ ", ":"},
	"if":                {"if ", ":"},
	"then":              {"if :; then ", ":"},
	"else":              {"if :; then :; else ", ":"},
	"elif":              {"if :; then :; elif :; then :; ", ":"},
	"while":             {"while ", ":"},
	"do":                {"while :; do ", ":"},
	"for":               {"for a in b; do ", ":"},
	"case":              {"case a in b) ", ":"},
	"case word":         {"case $(", ":"},
	"not":               {"! ", ":"},
	"function":          {"f() { ", ":"},
	"function name":     {"f() ", "{ :; }"},
	"time":              {"time ", ":"},
	"coproc":            {"coproc ", ":"},
	"process":           {"cat <(", ":"},
	"extended glob":     {"[[ a == @(", "b"},
	"array":             {"a=($(", ":"},
	"redirection":       {"> $(", ":"},
	"here-string":       {"cat <<<$(", ":"},
	"here-document":     {"cat <<E\n$(", ":"},
	"declare":           {"declare a=$(", ":"},
	"let":               {"let a=$(", ":"},
	"C loop":            {"for ((;;)); do ", ":"},
	"select":            {"select a in b; do ", ":"},
	"braces":            {"echo {a,", "b"},
	"dollar bracket":    {"echo $[", "1"},
}

// runs are sequences that the parser may follow by recursion: what is before, what is repeated, what is after.
var runs = map[string][3]string{
	"minus":           {"echo $((", "- ", "1))"},
	"not":             {"echo $((", "!", "1))"},
	"negation":        {"echo $((", "~", "1))"},
	"plus":            {"echo $((", "+ ", "1))"},
	"power":           {"echo $((", "1**", "1))"},
	"sum":             {"echo $((", "1+", "1))"},
	"ternary":         {"echo $((", "1?1:", "1))"},
	"ternary within":  {"echo $((", "1?", "1))"},
	"assignments":     {"echo $((", "a=", "1))"},
	"commas":          {"echo $((", "1,", "1))"},
	"test not":        {"[[ ", "! ", "a ]]"},
	"test parens":     {"[[ ", "( ", "a ]]"},
	"test and":        {"[[ ", "a && ", "a ]]"},
	"test or":         {"[[ ", "a || ", "a ]]"},
	"test -n":         {"[[ ", "-n ", "a ]]"},
	"and":             {"", ":&&", ":"},
	"or":              {"", ":||", ":"},
	"pipes":           {"", ":|", ":"},
	"mixed":           {"", ":|:&&:||", ":"},
	"not commands":    {"", "! ", ":"},
	"lines":           {"", ":\n", ":"},
	"elif":            {"if :; then :; ", "elif :; then :; ", "fi"},
	"case items":      {"case a in ", "a) ;; ", "esac"},
	"words":           {"echo ", "a ", "a"},
	"dollars":         {"echo ", "$a", "a"},
	"quotes":          {"echo ", `"a"'b'`, "a"},
	"braces":          {"echo ", "{", "a"},
	"brace lists":     {"echo ", "{a,", "b"},
	"here-documents":  {"", "cat <<E\nE\n", ":"},
	"here-docs first": {"cat ", "<<E ", "\n"},
	"redirections":    {"", ">a ", ":"},
	"assigns":         {"", "a=b ", ":"},
	"arrays":          {"a=(", "b ", ")"},
	"comments":        {"", "#a\n", ":"},
	"escapes":         {"echo ", `\`, "a"},
	"newlines":        {"", "\\\n", ":"},
}

// Whatever a script nests, parsing it ends soon, and with little stack: debug.SetMaxStack ends the test
// otherwise.
func TestParseIsBounded(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(8 << 20))
	check := func(name, text string) {
		t.Run(name, func(t *testing.T) {
			elapsed := clock.Stopwatch()
			_, err := Parse(text, "sh", nil)
			if took := elapsed(); took > 20*1e9 {
				t.Errorf("took %v (%v)", took, err)
			}
			_, _ = ParseArithmetic(text, nil)
		})
	}
	for name, part := range nestings {
		check("nested "+name, strings.Repeat(part[0], (MaxText-10)/len(part[0]))+part[1])
	}
	for name, part := range runs {
		check("run of "+name, part[0]+strings.Repeat(part[1], (MaxText-100)/len(part[1]))+part[2])
	}
}

func TestParseLimits(t *testing.T) {
	if _, err := Parse(strings.Repeat(":\n", MaxText), "sh", nil); !errors.Is(err, errTooLong) {
		t.Errorf("a long text: %v", err)
	}
	if _, err := Parse("echo $(("+strings.Repeat("(", 2000), "sh", nil); !errors.Is(err, errTooDeep) {
		t.Errorf("a deep text: %v", err)
	}
	if _, err := Parse(strings.Repeat("if :; then ", 50)+strings.Repeat("( ", 50)+":"+strings.Repeat(")", 50)+strings.Repeat("; fi", 50), "sh", nil); err != nil {
		t.Errorf("a hundred levels: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, part := range nestings {
		f.Add(part[0], part[1], uint16(300))
	}
	f.Fuzz(func(t *testing.T, open, within string, n uint16) {
		if len(open)*int(n) < MaxText {
			_, _ = Parse(strings.Repeat(open, int(n))+within, "sh", nil)
		}
	})
}
