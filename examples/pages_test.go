package examples

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the pages show as printed")

const pages = "../docs/examples/"

// page is one of docs/examples. Its shell blocks are typed by a test, and what it shows as printed is
// compared with the result.
type page struct {
	t     *testing.T
	path  string
	typed map[string]bool
}

func openPage(t *testing.T, name string) *page {
	t.Helper()
	p := &page{t: t, path: pages + name + ".md", typed: map[string]bool{}}
	t.Cleanup(p.everythingTyped)
	return p
}

func (p *page) text() string {
	p.t.Helper()
	text, err := os.ReadFile(p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// blocks returns the blocks of code in a language.
func (p *page) blocks(language string) []string {
	p.t.Helper()
	var all []string
	for _, match := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```\n").FindAllStringSubmatch(p.text(), -1) {
		all = append(all, match[1])
	}
	return all
}

// types reports that the test types this line.
func (p *page) types(line string) {
	p.t.Helper()
	if !slices.Contains(strings.Split(strings.Join(p.blocks("sh"), ""), "\n"), line) {
		p.t.Errorf("%s does not show: %s", p.path, line)
	}
	p.typed[line] = true
}

func (p *page) everythingTyped() {
	if p.t.Failed() || p.t.Skipped() {
		return
	}
	for _, block := range p.blocks("sh") {
		for line := range strings.Lines(block) {
			if line = strings.TrimSuffix(line, "\n"); !p.typed[line] {
				p.t.Errorf("%s shows what no test types: %s", p.path, line)
			}
		}
	}
}

// shows compares the block after the comment "printed by" with output.
func (p *page) shows(by, output string) {
	p.t.Helper()
	start := fmt.Sprintf("<!-- printed by %s -->\n```text\n", by)
	before, rest, found := strings.Cut(p.text(), start)
	shown, after, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		p.t.Fatalf("%s does not show what is printed by %s", p.path, by)
	}
	output = settled(output)
	switch {
	case shown == output:
	case *update:
		if err := os.WriteFile(p.path, []byte(before+start+output+"```\n"+after), 0o600); err != nil {
			p.t.Fatal(err)
		}
	default:
		p.t.Errorf("%s shows as printed by %s (-update rewrites it)\n%sand printed is\n%s", p.path, by, shown, output)
	}
}

// showsSome requires that the lines of the block are in output, in this order.
func (p *page) showsSome(by, output string) {
	p.t.Helper()
	_, rest, found := strings.Cut(p.text(), fmt.Sprintf("<!-- printed by %s, among other lines -->\n```text\n", by))
	shown, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		p.t.Fatalf("%s does not show what is printed by %s", p.path, by)
	}
	printed := strings.Split(settled(output), "\n")
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		i := slices.Index(printed, line)
		if i < 0 {
			p.t.Fatalf("%s shows %q, which is not printed, or not in this order, in\n%s", p.path, line, settled(output))
		}
		printed = printed[i+1:]
	}
}

// changing is a part of the output that differs from run to run.
type changing struct {
	// pattern has one group, which is replaced.
	pattern *regexp.Regexp
	// fixed are what the different texts of the group are replaced by, in the order in which they appear. The
	// last one replaces all that follow.
	fixed []string
}

func changes() []changing {
	return []changing{
		{regexp.MustCompile(`\bweb-(\w{5,10}-\w{5})\b`), []string{"5fc9f4bf66-2xk9p", "5fc9f4bf66-7hq4d", "5fc9f4bf66-..."}},
		{regexp.MustCompile(`\bresourceVersion(?:":"| )(\d+)`), []string{"312", "318", "325", "..."}},
		{regexp.MustCompile(`\bafter (\d+\.\d)s`), []string{"0.0", "1.4", "2.9", "..."}},
		{regexp.MustCompile(`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)`), []string{"2026-01-05T09:00:00Z"}},
		{regexp.MustCompile(`(?m)^Date: (.*)$`), []string{"Mon, 05 Jan 2026 09:00:01 GMT"}},
		{regexp.MustCompile(`([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})`), []string{
			"bafed425-7743-4c38-8fb6-22c02a0ed86e", "0830cb22-7227-435c-8dfe-a238321b6648",
			"d6ff7e94-e9d0-4447-b617-7629c9517d57", "fd4e6f23-14f5-4556-9422-b918dc92f5eb", "...",
		}},
		{regexp.MustCompile(`too old resource version: 1 \((\d+)\)`), []string{"203"}},
	}
}

// settled replaces what differs from run to run.
func settled(text string) string {
	text = strings.ReplaceAll(text, "\r", "")
	for _, c := range changes() {
		var seen []string
		var out strings.Builder
		end := 0
		for _, match := range c.pattern.FindAllStringSubmatchIndex(text, -1) {
			value := text[match[2]:match[3]]
			if !slices.Contains(seen, value) {
				seen = append(seen, value)
			}
			i := min(slices.Index(seen, value), len(c.fixed)-1)
			out.WriteString(text[end:match[2]] + c.fixed[i])
			end = match[3]
		}
		text = out.String() + text[end:]
	}
	return text
}

// The Go that the pages quote is in the programs.
func TestPagesQuotePrograms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	found, err := filepath.Glob(pages + "*.md")
	if err != nil || len(found) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	for _, path := range found {
		p := &page{t: t, path: path}
		for _, quote := range p.blocks("go") {
			if !strings.Contains(sources.String(), quote) {
				t.Errorf("%s quotes what is in no program:\n%s", path, quote)
			}
		}
	}
}
