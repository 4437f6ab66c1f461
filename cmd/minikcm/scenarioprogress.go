package main

import (
	"errors"
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
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/scenarios"
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

// Terminal escape sequences for colors (ECMA-48, 8.3.117).
const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
	faint = "\x1b[2m"
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
	// rewind moves the cursor to the start of the line and clears the line.
	rewind = "\r\x1b[K"
)

// spinInterval is the interval at which the line of the current step is redrawn.
const spinInterval = 100 * time.Millisecond

// progress prints the progress of a run. On a terminal, it redraws the line of the current
// step every spinInterval.
type progress struct {
	out   io.Writer
	color bool
	// allNotes is whether all notes of a step are printed, and not only the first maxNotes.
	allNotes bool
	// brightNotes is whether the notes are brighter than what is around them, and not fainter.
	brightNotes bool
	// kubeconfig is the --kubeconfig of an existing cluster, or empty if the run has its own.
	kubeconfig string
	// cluster is the time that has passed on the cluster's clock.
	cluster time.Duration
	// failureShown is whether the failure was printed with its step.
	failureShown bool
	// background counts the notes of each background step.
	background map[string]int

	notes sync.Mutex
	// prompt is the question that waits for an answer, in the last line.
	prompt string
	// patience is for how long background notes wait for the end of a step, so that the
	// effects of a short step are shown below it.
	patience time.Duration
	// held are the lines that wait until release is called; nil: none has to wait.
	held    []string
	holding interface{ Stop() bool }

	recorder atomic.Pointer[runrecord.Recorder]
	ending   chan struct{}
	spinning sync.WaitGroup
}

func newProgress(out io.Writer, noColor bool, kubeconfig string) *progress {
	return &progress{out: out, color: wantsColor(noColor, isTerminal(out)), kubeconfig: kubeconfig}
}

// follow sets the recorder whose status is shown with the current step.
func (p *progress) follow(r *runrecord.Recorder) { p.recorder.Store(r) }

func (p *progress) print(format string, args ...any) {
	// A failed write to the output cannot be reported anywhere.
	_, _ = fmt.Fprintf(p.out, format, args...)
}

func (p *progress) paint(color, text string) string {
	if !p.color {
		return text
	}
	return color + text + plain
}

func (p *progress) Begin(s *scenarios.Scenario) {
	p.cluster, p.failureShown, p.background = 0, false, map[string]int{}
	p.print("%s\n", strings.TrimRight(p.paint(bold, s.Metadata.Name)+"  "+s.Spec.Description, " "))
}

func (p *progress) StepBegins(title string) {
	p.hold()
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

// spin returns the line of the current step with frame i of the spinner.
func (p *progress) spin(i int, title string) string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	s := p.recorder.Load().Status()
	times := fmt.Sprintf("at %v (%v)", round(s.Cluster), round(s.Real))
	faults := ""
	if len(s.Faults) > 0 {
		faults = "⚡ " + strings.Join(s.Faults, ", ")
	}
	// A line that the terminal wraps cannot be redrawn, so it is cut to the width.
	room := widthOf(p.out) - len("  x   ") - len(times) - 1
	title = cut(title, max(room, minTitle))
	line := fmt.Sprintf("  %c %s  %s", frames[i%len(frames)], title, p.paint(faint, times))
	if faults = cut(faults, room-utf8.RuneCountInString(title)-2); faults != "" {
		line += "  " + p.paint(red, faults)
	}
	return line
}

// minTitle is the shortest length to which a step's title is cut, in characters.
// defaultWidth is the assumed width of an output whose width is unknown.
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

// cut shortens a text to room characters. It returns "" if room is less than minTitle.
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

// stop ends the goroutine that redraws the current step's line.
func (p *progress) stop() {
	if p.ending != nil {
		close(p.ending)
		p.ending = nil
	}
	p.spinning.Wait()
}

func (p *progress) StepEnded(step scenarios.StepResult) {
	defer p.release()
	p.stop()
	if p.color {
		p.print(rewind)
	}
	mark := p.paint(green, "✓")
	if step.Failure != nil {
		mark, p.failureShown = p.paint(red, "✗"), true
	}
	p.cluster += step.Cluster
	p.print("  %s %s  %s\n", mark, step.Title, p.paint(faint, fmt.Sprintf("at %v (%v)", round(p.cluster), round(step.Real))))
	for i, note := range step.Notes {
		if i == maxNotes && !p.allNotes {
			p.print("      %s\n", p.paint(faint, fmt.Sprintf("… %d more lines: --html, --json or --timeline show them", len(step.Notes)-i)))
			break
		}
		p.print("      %s\n", p.paint(p.noteStyle(), note))
	}
	if step.Failure != nil {
		p.print("      %s\n", strings.ReplaceAll(step.Failure.Error(), "\n", "\n      "))
	}
}

// noteStyle is the style of what programs print.
func (p *progress) noteStyle() string {
	if p.brightNotes {
		return bold
	}
	return faint
}

// BackgroundNote prints the notes of a background step as they arrive, the first maxNotes unless
// p.allNotes is set.
func (p *progress) BackgroundNote(title, note string) {
	p.background[title]++
	if p.background[title] > maxNotes && !p.allNotes {
		return
	}
	line := fmt.Sprintf("  ⋯ %s: %s", title, note)
	if p.background[title] == maxNotes && !p.allNotes {
		line += " … (--html, --json or --timeline show the rest)"
	}
	p.notes.Lock()
	defer p.notes.Unlock()
	if p.holding != nil {
		p.held = append(p.held, line)
		return
	}
	p.printNote(line)
}

// printNote prints the line of a background note above the prompt, if there is one. p.notes is
// locked.
func (p *progress) printNote(line string) {
	switch {
	case p.color:
		line = rewind + p.paint(p.noteStyle(), line)
	case p.prompt != "":
		line = "\n" + line
	}
	p.print("%s\n%s", line, p.prompt)
}

// hold keeps the background notes until release is called, or for p.patience.
func (p *progress) hold() {
	if p.patience == 0 {
		return
	}
	p.notes.Lock()
	defer p.notes.Unlock()
	p.holding = clock.Real().AfterFunc(p.patience, p.release)
}

// release prints the notes that were kept.
func (p *progress) release() {
	p.notes.Lock()
	defer p.notes.Unlock()
	if p.holding == nil {
		return
	}
	p.holding.Stop()
	for _, line := range p.held {
		p.printNote(line)
	}
	p.held, p.holding = nil, nil
}

// ask prints a question. Notes that arrive until answered is called are printed above it.
func (p *progress) ask(question string) (answered func()) {
	p.notes.Lock()
	defer p.notes.Unlock()
	p.prompt = question
	p.print("%s", question)
	return func() {
		p.notes.Lock()
		defer p.notes.Unlock()
		p.prompt = ""
	}
}

func (p *progress) Stalled(d time.Duration, inFlight string) {
	line := fmt.Sprintf("no progress for %v of machine time; in flight: %s. Ctrl-C stops the run and writes its report.", d, inFlight)
	if p.color {
		line = rewind + line
	}
	p.print("%s\n", line)
}

func (p *progress) End(result *scenarios.Result) {
	p.stop()
	if errors.Is(result.Failure, errTourEnded) {
		return
	}
	if result.Failure != nil && !p.failureShown {
		p.print("  %s %s\n", p.paint(red, "✗"), strings.ReplaceAll(result.Failure.Error(), "\n", "\n      "))
	}
	p.causes(result.Run)
	color := green
	if result.Failure != nil {
		color = red
	}
	word, rest, _ := strings.Cut(result.Text(), " ")
	p.print("%s %s\n", p.paint(color, word), rest)
	if text := result.Run.ReproducibleText(); text != "" {
		p.print("%s\n", text)
	}
	if result.Failure != nil && !result.Interrupted {
		p.print("Reproduce it with: %s\n", rerunCommand(result, p.kubeconfig))
	}
}

// causes prints the causes that the run recorded for its failures.
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

// maxNotes caps the notes printed for a step. Reports contain all of them.
const maxNotes = 40

// maxCauseLines caps the lines printed for a chain of causes. Reports contain all of them.
const maxCauseLines = 14

func shortCause(cause string) string {
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(cause), "\n\n", "\n"), "\n")
	if len(lines) <= maxCauseLines {
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines[:maxCauseLines], "\n") + fmt.Sprintf("\n  … %d more lines: --html, --json or --timeline show them", len(lines)-maxCauseLines)
}

// rerunCommand returns the command that repeats a run. kubeconfig is empty unless the run was
// on an existing cluster.
func rerunCommand(result *scenarios.Result, kubeconfig string) string {
	var b strings.Builder
	command := "scenario run"
	if strings.HasPrefix(result.Scenario.File, "tours/") {
		command = "demo"
	}
	fmt.Fprintf(&b, "minikcm %s %s --seed %d", command, shellQuote(argumentOf(result.Scenario)), result.Seed)
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

// argumentOf returns the command-line argument that selects a scenario.
func argumentOf(s *scenarios.Scenario) string {
	if strings.HasPrefix(s.File, "library/") || strings.HasPrefix(s.File, "tours/") {
		return s.Metadata.Name
	}
	return asPath(s.File)
}

// round rounds a duration to a readable precision.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
