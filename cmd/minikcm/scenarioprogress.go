package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
	"minikcm.dev/minikcm/scenarios/runrecord"
)

type stopwatch = func() time.Duration

// wantsColor follows https://no-color.org.
func wantsColor(noColor, terminal bool) bool {
	return terminal && !noColor && os.Getenv("NO_COLOR") == ""
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// The colours of progress, for terminals (ECMA-48, 8.3.117).
const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
	faint = "\x1b[2m"
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
	// rewind goes back to the start of the line and clears it.
	rewind = "\r\x1b[K"
)

// spinInterval is how often the line of the current step is drawn again.
const spinInterval = 100 * time.Millisecond

// progress shows a run as it goes on. On a terminal, the current step has a line that
// is drawn again and again.
type progress struct {
	out   io.Writer
	color bool
	// kubeconfig is that of the cluster that was there already; empty: there was none.
	kubeconfig string
	// cluster is how much of the cluster's time has passed.
	cluster time.Duration
	// told says that a step's failure was.
	told bool
	// background counts the notes of each background step.
	background map[string]int

	recorder atomic.Pointer[runrecord.Recorder]
	ending   chan struct{}
	spinning sync.WaitGroup
}

func newProgress(out io.Writer, noColor bool, kubeconfig string) *progress {
	return &progress{out: out, color: wantsColor(noColor, isTerminal(out)), kubeconfig: kubeconfig}
}

// follow lets the progress see what is recorded.
func (p *progress) follow(r *runrecord.Recorder) { p.recorder.Store(r) }

func (p *progress) print(format string, args ...any) {
	// Nothing can be told to somebody who does not listen any more.
	_, _ = fmt.Fprintf(p.out, format, args...)
}

func (p *progress) paint(color, text string) string {
	if !p.color {
		return text
	}
	return color + text + plain
}

func (p *progress) Begin(s *scenarios.Scenario) {
	p.cluster, p.told, p.background = 0, false, map[string]int{}
	p.print("%s\n", strings.TrimRight(p.paint(bold, s.Metadata.Name)+"  "+s.Spec.Description, " "))
}

func (p *progress) StepBegins(title string) {
	if !p.color {
		return
	}
	p.print("  … %s", title)
	p.stop()
	ending := make(chan struct{})
	p.ending = ending
	p.spinning.Go(func() {
		ticker := clock.Real().NewTicker(spinInterval)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ticker.C():
				p.print("%s", rewind+p.spin(i, title))
			case <-ending:
				return
			}
		}
	})
}

// spin is the line of a step that goes on.
func (p *progress) spin(i int, title string) string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	s := p.recorder.Load().Status()
	times := fmt.Sprintf("at %v (%v)", round(s.Cluster), round(s.Real))
	faults := ""
	if len(s.Faults) > 0 {
		faults = "⚡ " + strings.Join(s.Faults, ", ")
	}
	// A line that the terminal breaks in two cannot be drawn again.
	room := widthOf(p.out) - len("  x   ") - len(times) - 1
	title = cut(title, max(room, minTitle))
	line := fmt.Sprintf("  %c %s  %s", frames[i%len(frames)], title, p.paint(faint, times))
	if faults = cut(faults, room-utf8.RuneCountInString(title)-2); faults != "" {
		line += "  " + p.paint(red, faults)
	}
	return line
}

// minTitle is how much is shown of a step's title on a terminal however narrow, and
// defaultWidth how wide one is of which that is not known.
const (
	minTitle     = 10
	defaultWidth = 80
)

func widthOf(stream any) int {
	if file, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return defaultWidth
}

// cut leaves the first characters of a text; nothing if there is no room for some.
func cut(text string, room int) string {
	runes := []rune(text)
	switch {
	case len(runes) <= room:
		return text
	case room < minTitle:
		return ""
	}
	return string(runes[:room-1]) + "…"
}

// stop ends the line that is drawn again and again.
func (p *progress) stop() {
	if p.ending != nil {
		close(p.ending)
		p.ending = nil
	}
	p.spinning.Wait()
}

func (p *progress) StepEnded(step scenarios.StepResult) {
	p.stop()
	if p.color {
		p.print(rewind)
	}
	mark := p.paint(green, "✓")
	if step.Failure != nil {
		mark, p.told = p.paint(red, "✗"), true
	}
	p.cluster += step.Cluster
	p.print("  %s %s  %s\n", mark, step.Title, p.paint(faint, fmt.Sprintf("at %v (%v)", round(p.cluster), round(step.Real))))
	for i, note := range step.Notes {
		if i == maxNotes {
			p.print("      %s\n", p.paint(faint, fmt.Sprintf("… %d more lines: --html, --json or --timeline show them", len(step.Notes)-i)))
			break
		}
		p.print("      %s\n", p.paint(faint, note))
	}
	if step.Failure != nil {
		p.print("      %s\n", strings.ReplaceAll(step.Failure.Error(), "\n", "\n      "))
	}
}

// BackgroundNote prints the first notes of a background step as they come: reports have
// all of them.
func (p *progress) BackgroundNote(title, note string) {
	if p.background[title]++; p.background[title] > maxNotes {
		return
	}
	line := fmt.Sprintf("  ⋯ %s: %s", title, note)
	if p.background[title] == maxNotes {
		line += " … (--html, --json or --timeline show the rest)"
	}
	if p.color {
		line = rewind + p.paint(faint, line)
	}
	p.print("%s\n", line)
}

func (p *progress) Stalled(d time.Duration, inFlight string) {
	line := fmt.Sprintf("no progress for %v of the machine's time; in flight: %s. Ctrl-C ends the run with its report.", d, inFlight)
	if p.color {
		line = rewind + line
	}
	p.print("%s\n", line)
}

func (p *progress) End(result *scenarios.Result) {
	p.stop()
	if result.Failure != nil && !p.told {
		p.print("  %s %s\n", p.paint(red, "✗"), strings.ReplaceAll(result.Failure.Error(), "\n", "\n      "))
	}
	p.causes(result.Run)
	color := green
	if result.Failure != nil {
		color = red
	}
	word, rest, _ := strings.Cut(result.Text(), " ")
	p.print("%s %s\n", p.paint(color, word), rest)
	if result.Failure != nil && !result.Interrupted {
		p.print("See it again: %s\n", again(result, p.kubeconfig))
	}
}

// causes tells why what failed is as it is.
func (p *progress) causes(run *runrecord.Run) {
	if run == nil {
		return
	}
	for _, f := range run.Failures {
		for _, cause := range f.Causes {
			p.print("      %s\n", p.paint(faint, "Why: "+strings.ReplaceAll(shortCause(cause), "\n", "\n      ")))
		}
	}
}

// maxNotes bounds what is told of what was done in a step; reports tell all of it.
const maxNotes = 40

// maxCauseLines bounds what is told of a chain of causes; reports tell all of it.
const maxCauseLines = 14

func shortCause(cause string) string {
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(cause), "\n\n", "\n"), "\n")
	if len(lines) <= maxCauseLines {
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines[:maxCauseLines], "\n") + fmt.Sprintf("\n  … %d more lines: --html, --json or --timeline show them", len(lines)-maxCauseLines)
}

// again returns the command that runs the same once more. kubeconfig is empty unless the
// run was on a cluster that was there already.
func again(result *scenarios.Result, kubeconfig string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "minikcm scenario run %s --seed %d", shellQuote(argumentOf(result.Scenario)), result.Seed)
	if kubeconfig != "" {
		fmt.Fprintf(&b, " --kubeconfig %s", shellQuote(kubeconfig))
	}
	if result.Run == nil {
		return b.String()
	}
	run := result.Run.Scenario
	if run.Clock != "" && run.Clock != result.Scenario.Spec.Cluster.Clock && kubeconfig == "" {
		fmt.Fprintf(&b, " --clock %s", run.Clock)
	}
	for _, name := range sortedKeys(run.Set) {
		fmt.Fprintf(&b, " --set %s=%s", name, shellQuote(run.Set[name]))
	}
	return b.String()
}

// argumentOf returns how a command line names a scenario.
func argumentOf(s *scenarios.Scenario) string {
	if strings.HasPrefix(s.File, "library/") {
		return s.Metadata.Name
	}
	return asPath(s.File)
}

// round leaves what a person reads of a duration.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
