package script

import (
	"errors"
	"strings"
	"time"

	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/span"
)

// The most commands that a program executes: ahead of time, to learn how it ends (one
// that has not ended by then is taken to run forever), and to learn what it writes.
const (
	timingBudget = 2000
	OutputBudget = 1 << 21
)

// Interpret understands commands whose whole effect is to take time, to write, and to
// exit: sleep, true, false, echo, printf, date, seq, expr, and shell scripts of nothing but
// these (see shell). ok is false for all others.
func Interpret(command, args []string) (exitCode int32, runs time.Duration, ok bool) {
	return (&Program{words: podspec.CommandLine(command, args), vars: &podspec.Variables{}}).Predict()
}

// Predict is how long a run takes and what it exits with.
func (g *Program) Predict() (exitCode int32, runs time.Duration, ok bool) {
	p := &Process{Budget: timingBudget}
	switch code, err := g.Run(p); {
	case err == nil:
		return code, p.Took, true
	case errors.Is(err, ErrRunsForever):
		return 0, span.Forever, true
	}
	return 0, 0, false
}

// Run runs the program as p.
func (g *Program) Run(p *Process) (exitCode int32, err error) {
	if len(g.words) == 0 {
		return 0, ErrNotPredictable
	}
	s := newShell(p, g)
	if script, flags, isShell := shellScript(g.words); isShell {
		s.errexit = strings.Contains(flags, "e")
		err = s.script(script)
	} else {
		err = s.execute(g.words)
	}
	return s.status, err
}

// shellScript returns the script of sh -c SCRIPT, and the flags before it.
func shellScript(words []string) (script, flags string, ok bool) {
	if len(words) < 3 {
		return "", "", false
	}
	switch ProgramName(words[0]) {
	case "sh", "bash", "ash", "dash":
	default:
		return "", "", false
	}
	flags = words[1]
	if !strings.HasPrefix(flags, "-") || !strings.HasSuffix(flags, "c") || strings.Trim(flags, "-ecu") != "" {
		return "", "", false
	}
	return words[2], flags, true
}

func ProgramName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
