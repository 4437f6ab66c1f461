package script

import (
	"errors"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
)

// The maximum number of commands that a program executes, in a prediction (a program that
// exceeds it runs forever) and when its output is reproduced.
const (
	timingBudget = 2000
	OutputBudget = 1 << 21
)

// Interpret predicts the exit code and duration of a command line without variables; ok is
// false if it is not predictable. Predictable are sleep, true, false, echo, printf, date, seq,
// expr, test, hostname, and shell scripts of these.
func Interpret(command, args []string) (exitCode int32, runs time.Duration, ok bool) {
	return (&Program{words: podspec.CommandLine(command, args), vars: &podspec.Variables{}}).Predict()
}

// Takes returns how long a command takes in which every unknown program succeeds at once; 0 if it is not
// predictable all the same.
func Takes(command []string) time.Duration {
	p := &Process{Budget: timingBudget, assuming: true}
	switch _, err := (&Program{words: command, vars: &podspec.Variables{}}).Run(p); {
	case err == nil:
		return p.Took
	case errors.Is(err, ErrRunsForever):
		return span.Forever
	}
	return 0
}

// Predict returns the duration of a run and its exit code; ok is false if the program is not
// predictable.
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

// Run runs the program as the process p. It returns the program's exit code, or one of this
// package's errors or Advance's.
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

// shellScript returns the script of sh -c SCRIPT and the flags before it, such as -euo pipefail.
func shellScript(words []string) (script, flags string, ok bool) {
	if len(words) < 3 {
		return "", "", false
	}
	switch ProgramName(words[0]) {
	case "sh", "bash", "ash", "dash":
	default:
		return "", "", false
	}
	words = words[1:]
	for len(words) > 1 && strings.HasPrefix(words[0], "-") {
		word := words[0]
		if strings.Trim(word, "-ecuo") != "" || len(word) < 2 {
			return "", "", false
		}
		if flags += word[1:]; strings.Contains(word, "o") {
			switch words = words[1:]; words[0] {
			case "pipefail", "nounset":
			case "errexit":
				flags += "e"
			default:
				return "", "", false
			}
		}
		words = words[1:]
	}
	if len(words) != 1 || !strings.Contains(flags, "c") {
		return "", "", false
	}
	return words[0], flags, true
}

func ProgramName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
