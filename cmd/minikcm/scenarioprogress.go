package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/scenarios"
	"minikcm.dev/minikcm/scenarios/record"
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
	// cluster is how much of the cluster's time has passed.
	cluster time.Duration
	// told says that a step's failure was.
	told bool

	recorder atomic.Pointer[record.Recorder]
	ending   chan struct{}
	spinning sync.WaitGroup
}

func newProgress(out io.Writer, noColor bool) *progress {
	return &progress{out: out, color: wantsColor(noColor, isTerminal(out))}
}

// follow lets the progress see what is recorded.
func (p *progress) follow(r *record.Recorder) { p.recorder.Store(r) }

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
	p.cluster, p.told = 0, false
	p.print("%s  %s\n", p.paint(bold, s.Metadata.Name), s.Spec.Description)
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
	line := fmt.Sprintf("  %c %s  %s", frames[i%len(frames)], title, p.paint(faint, fmt.Sprintf("at %v (%v)", round(s.Cluster), round(s.Real))))
	if len(s.Faults) > 0 {
		line += "  " + p.paint(red, "⚡ "+strings.Join(s.Faults, ", "))
	}
	return line
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
	for _, note := range step.Notes {
		p.print("      %s\n", p.paint(faint, note))
	}
	if step.Failure != nil {
		p.print("      %s\n", strings.ReplaceAll(step.Failure.Error(), "\n", "\n      "))
	}
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
		p.print("See it again: minikcm scenario run %s --seed %d%s\n", again(result.Scenario), result.Seed, settings(result.Run))
	}
}

// causes tells why what failed is as it is.
func (p *progress) causes(run *record.Run) {
	if run == nil {
		return
	}
	for _, f := range run.Failures {
		for _, cause := range f.Causes {
			p.print("      %s\n", p.paint(faint, "Why: "+strings.ReplaceAll(shortCause(cause), "\n", "\n      ")))
		}
	}
}

// maxCauseLines bounds what is told of a chain of causes; reports tell all of it.
const maxCauseLines = 14

func shortCause(cause string) string {
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(cause), "\n\n", "\n"), "\n")
	if len(lines) <= maxCauseLines {
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines[:maxCauseLines], "\n") + fmt.Sprintf("\n  … %d more lines: --html, --json or --timeline show them", len(lines)-maxCauseLines)
}

// again is how the user named the scenario.
func again(s *scenarios.Scenario) string {
	if strings.HasPrefix(s.File, "library/") {
		return s.Metadata.Name
	}
	return asPath(s.File)
}

// settings are the flags, beside the seed, that make a run the same.
func settings(run *record.Run) string {
	if run == nil {
		return ""
	}
	var b strings.Builder
	for _, name := range sortedKeys(run.Scenario.Set) {
		fmt.Fprintf(&b, " --set %s=%s", name, run.Scenario.Set[name])
	}
	return b.String()
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
