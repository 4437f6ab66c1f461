package report

import (
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

// StyleSource is the source in a Content-Security-Policy that allows the style of the pages that
// HTML writes, and no other.
func StyleSource() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// HTML writes one page about runs, with plots. The page refers to no other file and runs no
// script. HTML returns an error only if w does.
func HTML(w io.Writer, runs []*runrecord.Run) error {
	page, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("reading the template of the report: %w", err)
	}
	data := pageData{Style: template.CSS(pageStyle)} // it is a file of this package
	for i, run := range runs {
		data.Runs = append(data.Runs, viewOf(i, run))
		if run.Verdict != runrecord.Passed {
			data.Bad++
		}
	}
	if err := page.Execute(w, data); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

type pageData struct {
	Style template.CSS
	Runs  []runView
	Bad   int
}

// Title is the page's.
func (p pageData) Title() string {
	if len(p.Runs) == 1 {
		return p.Runs[0].Word + " " + p.Runs[0].Run.Scenario.Name
	}
	return fmt.Sprintf("%d scenarios, %d failed", len(p.Runs), p.Bad)
}

// runView is a run as the page shows it.
type runView struct {
	Run      *runrecord.Run
	ID       string
	Word     string
	Class    string
	Facts    []fact
	Failures []failureView
	// Unexpected are the objects that were not as expected in the end, a line each.
	Unexpected []string
	// Refused are the requests that were refused, a line each, and RefusedMore counts the
	// others.
	Refused     []string
	RefusedMore int
	// NotReproducible says from which step on another run may differ; empty if none will.
	NotReproducible string
	Legend          []legend
	Pods            template.HTML
	Steps           template.HTML
	Activity        template.HTML
	Events          template.HTML
	Rows            []rowView
	LeftOut         int
	Replay          string
	// Ordered says that the plots show the order of writes, not time.
	Ordered bool
}

type fact struct{ Name, Value string }

type legend struct{ Class, Name, Text string }

type failureView struct {
	At, Check, Message string
	Diff               []diffLine
	Causes             []string
}

type diffLine struct{ Class, Text string }

type rowView struct {
	At, Class, Mark, Text, Detail string
	Depth                         int
}

// maxPageRows bounds the timeline of a page.
const maxPageRows = 1500

func viewOf(i int, run *runrecord.Run) runView {
	shown, ordered := sequence(run)
	// A little room after the end shows what happened in its last moment.
	a := axis{shown.Cluster + shown.Cluster/40, ordered}
	v := runView{
		Ordered: ordered,
		Run:     run, ID: "run-" + strconv.Itoa(i), Word: verdictWord(run.Verdict), Class: "verdict-" + strings.ToLower(string(run.Verdict)),
		Pods: plotPods(shown, a), Steps: plotSteps(shown, a), Activity: plotActivity(shown, a), Events: plotEvents(shown, a),
		Replay: replayOf(run),
	}
	v.Facts = []fact{
		{"cluster time", length(run.Cluster)},
		{"real time", length(run.Real)},
		{"seed", strconv.FormatUint(run.Scenario.Seed, 10)},
		{"writes", strconv.FormatInt(run.Totals.Writes, 10)},
		{"events", strconv.FormatInt(run.Totals.Events, 10)},
		{"pods", fmt.Sprintf("%d came, %d went", run.Totals.PodsCreated, run.Totals.PodsDeleted)},
	}
	for _, p := range stacking(run) {
		c := run.Pods.Phases[p]
		v.Legend = append(v.Legend, legend{phaseClass(p), phaseName(p), fmt.Sprintf("%d in the end", c.Last[len(c.Last)-1])})
	}
	v.Failures, v.Unexpected, v.NotReproducible = failureViews(run), unexpected(run), run.ReproducibleText()
	for i, r := range refusals(run) {
		if i == maxListed {
			v.RefusedMore = len(run.Refusals) - maxListed
			break
		}
		v.Refused = append(v.Refused, refusalLine(run, &r))
	}
	v.Rows, v.LeftOut = rowViews(timeline(run))
	return v
}

func phaseName(p runrecord.Phase) string {
	if p == runrecord.Running {
		return "Running, not ready"
	}
	return string(p)
}

// replayOf is the command that shows the run again.
func replayOf(run *runrecord.Run) string {
	name := run.Scenario.File
	if name == "" || strings.HasPrefix(name, "library/") {
		name = run.Scenario.Name
	}
	return fmt.Sprintf("minikcm scenario run %s --seed %d", name, run.Scenario.Seed)
}

func failureViews(run *runrecord.Run) []failureView {
	var all []failureView
	for _, f := range run.Failures {
		v := failureView{At: offset(f.At), Check: f.Check, Message: f.Message, Causes: f.Causes}
		for _, line := range f.Diff {
			if strings.Contains(f.Message, line) {
				continue // the message has it already
			}
			for part := range strings.SplitSeq(line, "\n") {
				v.Diff = append(v.Diff, diffLine{diffClass(part), part})
			}
		}
		all = append(all, v)
	}
	if len(all) == 0 && run.Message != "" {
		all = append(all, failureView{At: offset(run.Cluster), Message: run.Message})
	}
	return all
}

func diffClass(line string) string {
	switch {
	case strings.HasPrefix(line, "-"):
		return "minus"
	case strings.HasPrefix(line, "+"):
		return "plus"
	}
	return ""
}

func rowViews(rows []row) (views []rowView, leftOut int) {
	for i, r := range rows {
		if len(rows) > maxPageRows && i >= maxPageRows*3/4 && i < len(rows)-maxPageRows/4 {
			leftOut++
			continue
		}
		class := r.kind
		if r.failed {
			class += " failed"
		} else if r.end {
			class += " end"
		}
		views = append(views, rowView{offset(r.at), class, mark(r), r.text, r.detail, min(r.depth, 6)})
	}
	return views, leftOut
}
