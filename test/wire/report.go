package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// report collects results.
type report struct {
	known []*known
	areas map[string]*figures
	// kinds groups the differences that are alike.
	kinds map[string]*alike
	// slow names the requests that took more than slowAnswer.
	slow []string
	// different are the results with differences that are not known.
	different []exchange.Result
}

// figures counts the requests of an area.
type figures struct{ requests, equal, known, different int }

// alike is one difference of several requests.
type alike struct {
	exchange.Difference
	requests []string
}

func newReport(known []*known) *report {
	return &report{known: known, areas: map[string]*figures{}, kinds: map[string]*alike{}}
}

// slowAnswer is the time above which a request is named in the report.
const slowAnswer = 2 * time.Second

func (r *report) add(result exchange.Result) {
	if result.Took > slowAnswer {
		r.slow = append(r.slow, fmt.Sprintf("%v: %s", result.Took.Round(time.Second/10), result.Name))
	}
	if result.Setup {
		return
	}
	of := r.areas[result.Area]
	if of == nil {
		of = &figures{}
		r.areas[result.Area] = of
	}
	of.requests++
	var unknown []exchange.Difference
	for _, d := range result.Differences {
		if k := find(r.known, result.Name, d); k != nil {
			k.met++
			continue
		}
		unknown = append(unknown, d)
	}
	switch {
	case len(unknown) > 0:
		of.different++
		result.Differences = unknown
		r.different = append(r.different, result)
		r.group(result.Name, unknown[0])
	case len(result.Differences) > 0:
		of.known++
	default:
		of.equal++
	}
}

// expected reports whether the answers are equal but for known differences.
func (r *report) expected(result exchange.Result) bool {
	return !slices.ContainsFunc(result.Differences, func(d exchange.Difference) bool { return find(r.known, result.Name, d) == nil })
}

// index matches the positions in lists.
var index = regexp.MustCompile(`\[\d+\]`)

// maxValue limits the length of values in the summary.
const maxValue = 160

func (r *report) group(request string, d exchange.Difference) {
	d = exchange.Difference{Field: index.ReplaceAllString(d.Field, "[*]"), Upstream: cut(d.Upstream), Minikcm: cut(d.Minikcm)}
	key := fmt.Sprint(d)
	if r.kinds[key] == nil {
		r.kinds[key] = &alike{Difference: d}
	}
	r.kinds[key].requests = append(r.kinds[key].requests, request)
}

func cut(value string) string {
	if len(value) > maxValue {
		return value[:maxValue] + "..."
	}
	return value
}

// write writes the groups of differences, and each request that differs with both answers.
func (r *report) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	r.writeGroups(out, 8)
	if len(r.slow) > 0 {
		fmt.Fprintf(out, "\nslow answers:\n%s\n", strings.Join(r.slow, "\n"))
	}
	for _, result := range r.different {
		fmt.Fprintf(out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 100), result.Name, result.Request)
		for i, d := range result.Differences {
			if i == 10 {
				fmt.Fprintf(out, "and %d more fields\n", len(result.Differences)-i)
				break
			}
			fmt.Fprintf(out, "%s\n  upstream: %s\n  minikcm:  %s\n", d.Field, d.Upstream, d.Minikcm)
		}
		fmt.Fprintf(out, "\n--- upstream: %s\n--- minikcm: %s", result.Upstream, result.Minikcm)
	}
	return errors.Join(out.Flush(), file.Close())
}

// writeGroups prints the differences that are alike, the most frequent first.
func (r *report) writeGroups(out io.Writer, examples int) {
	groups := slices.SortedFunc(maps.Values(r.kinds), func(a, b *alike) int {
		return cmp.Or(len(b.requests)-len(a.requests), strings.Compare(a.Field, b.Field), strings.Compare(a.requests[0], b.requests[0]))
	})
	for _, g := range groups {
		fmt.Fprintf(out, "%d requests: %s\n  upstream: %s\n  minikcm:  %s\n", len(g.requests), g.Field, g.Upstream, g.Minikcm)
		for _, name := range g.requests[:min(examples, len(g.requests))] {
			fmt.Fprintf(out, "    %s\n", name)
		}
	}
}

// summarize prints the figures of the areas as a table in Markdown.
func (r *report) summarize(out io.Writer, whole bool) {
	fmt.Fprintf(out, "| area | requests | equal | known differences | other differences |\n| --- | --- | --- | --- | --- |\n")
	var all figures
	for _, name := range slices.Sorted(maps.Keys(r.areas)) {
		f := r.areas[name]
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d |\n", name, f.requests, f.equal, f.known, f.different)
		all = figures{all.requests + f.requests, all.equal + f.equal, all.known + f.known, all.different + f.different}
	}
	fmt.Fprintf(out, "| all | %d | %d | %d | %d |\n", all.requests, all.equal, all.known, all.different)
	if whole {
		for _, k := range r.notMet() {
			fmt.Fprintf(out, "not met: %s %s (%s)\n", k.Requests, k.Fields, k.Reason)
		}
	}
}

// notMet returns the known differences that some request should have had, and none had.
func (r *report) notMet() (list []*known) {
	for _, k := range r.known {
		if k.met == 0 && !k.Sometimes {
			list = append(list, k)
		}
	}
	return list
}

// err is the verdict. Of a selection of requests, known differences may not be met.
func (r *report) err(whole bool) error {
	if len(r.different) > 0 {
		return fmt.Errorf("%d requests are answered differently, in %d ways", len(r.different), len(r.kinds))
	}
	if list := r.notMet(); whole && len(list) > 0 {
		return fmt.Errorf("%d known differences were not met: remove them from the file", len(list))
	}
	return nil
}
