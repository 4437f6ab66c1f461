package kubeletsim

import (
	"errors"
	"strings"
	"time"
)

// program is what a container runs.
type program struct {
	words []string
	// env are the variables whose values the pod's spec tells. Of those in hidden, and
	// if hiddenEnv of all others, only the cluster knows the values.
	env       map[string]string
	hidden    map[string]bool
	hiddenEnv bool
	// id names the run: what it takes for chance follows from it, and so from the
	// cluster's seed.
	id string
}

// The most commands that a program executes: ahead of time, to learn how it ends (one
// that has not ended by then is taken to run forever), and to learn what it writes.
const (
	timingBudget = 2000
	outputBudget = 1 << 21
)

// interpret understands commands whose whole effect is to take time, to write, and to
// exit: sleep, true, false, echo, printf, date, seq, expr, and shell scripts of nothing but
// these (see shell). ok is false for all others.
func interpret(command, args []string) (exitCode int32, runs time.Duration, ok bool) {
	return (&program{words: wordsOf(command, args)}).timing()
}

func wordsOf(command, args []string) []string {
	if len(args) == 0 {
		return command
	}
	return append(command[:len(command):len(command)], args...)
}

// timing is how long a run takes and what it exits with.
func (g *program) timing() (exitCode int32, runs time.Duration, ok bool) {
	p := &process{budget: timingBudget}
	switch code, err := g.run(p); {
	case err == nil:
		return code, p.took, true
	case errors.Is(err, errForever):
		return 0, forever, true
	}
	return 0, 0, false
}

// run runs the program as p.
func (g *program) run(p *process) (exitCode int32, err error) {
	if len(g.words) == 0 {
		return 0, errUnknown
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
	switch base(words[0]) {
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

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// sum adds durations of which either may be forever.
func sum(a, b time.Duration) time.Duration {
	if a == forever || b == forever || a > forever-b {
		return forever
	}
	return a + b
}
