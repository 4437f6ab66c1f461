package kubeletsim

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// interpret understands commands whose whole effect is to take time and to exit:
// sleep, true, false, and shell scripts of nothing but these, exit, echo and ":",
// in sequence. ok is false for all others.
func interpret(command, args []string) (exitCode int32, runs time.Duration, ok bool) {
	if len(command) == 0 && len(args) == 0 {
		return 0, 0, false
	}
	words := command
	if len(args) > 0 {
		words = append(append([]string(nil), command...), args...)
	}
	if script, isShell := shellScript(words); isShell {
		return interpretScript(script)
	}
	exitCode, runs, _, ok = interpretWords(words, false)
	return exitCode, runs, ok
}

// shellScript returns the script of sh -c SCRIPT.
func shellScript(words []string) (string, bool) {
	if len(words) < 3 {
		return "", false
	}
	switch base(words[0]) {
	case "sh", "bash", "ash", "dash":
	default:
		return "", false
	}
	if !strings.HasPrefix(words[1], "-") || !strings.HasSuffix(words[1], "c") || strings.Trim(words[1], "-ecux") != "" {
		return "", false
	}
	return words[2], true
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// interpretScript takes the simple commands one after the other. A script with
// quotes, variables, pipes or anything else of a shell's language is not
// understood.
func interpretScript(script string) (exitCode int32, runs time.Duration, ok bool) {
	if body, loops := strings.CutPrefix(strings.TrimSpace(script), "while true; do "); loops && strings.HasSuffix(body, "done") {
		return 0, forever, true
	}
	for sequence := range strings.FieldsFuncSeq(script, func(r rune) bool { return r == ';' || r == '\n' }) {
		exitCode = 0
		for command := range strings.SplitSeq(sequence, "&&") {
			words := strings.Fields(command)
			if len(words) == 0 {
				continue
			}
			if words[0] != "echo" && strings.ContainsAny(command, "\"'$`|&<>(){}\\*?#") {
				return 0, 0, false
			}
			code, took, exits, known := interpretWords(words, true)
			if !known {
				return 0, 0, false
			}
			exitCode, runs = code, sum(runs, took)
			if exits || runs == forever {
				return exitCode, runs, true
			}
			if exitCode != 0 {
				break
			}
		}
	}
	return exitCode, runs, true
}

// interpretWords understands one simple command; exits is whether it ends the
// script it stands in.
func interpretWords(words []string, inShell bool) (exitCode int32, runs time.Duration, exits, ok bool) {
	switch name := base(words[0]); {
	case name == "true" || name == ":" && inShell:
		return 0, 0, false, true
	case name == "echo" && inShell && !strings.ContainsAny(strings.Join(words, " "), "`$|&<>"):
		return 0, 0, false, true
	case name == "false":
		return 1, 0, false, true
	case name == "exit" && inShell && len(words) <= 2:
		if len(words) == 1 {
			return 0, 0, true, true
		}
		code, err := parseExitCode(words[1])
		return code, 0, true, err == nil
	case name == "sleep" && len(words) > 1:
		for _, word := range words[1:] {
			d, err := parseSleep(word)
			if err != nil {
				return 0, 0, false, false
			}
			runs = sum(runs, d)
		}
		return 0, runs, false, true
	}
	return 0, 0, false, false
}

// parseSleep reads what the command sleep takes: a number with one of the units s,
// m, h and d, or infinity.
func parseSleep(word string) (time.Duration, error) {
	if word == "infinity" || word == "inf" {
		return forever, nil
	}
	unit := time.Second
	if n := len(word); n > 0 {
		switch word[n-1] {
		case 's':
			word = word[:n-1]
		case 'm':
			word, unit = word[:n-1], time.Minute
		case 'h':
			word, unit = word[:n-1], time.Hour
		case 'd':
			word, unit = word[:n-1], 24*time.Hour
		}
	}
	n, err := strconv.ParseFloat(word, 64)
	if err != nil || n < 0 || n != n {
		return 0, fmt.Errorf("%q is no time to sleep", word)
	}
	if n*float64(unit) >= float64(forever) {
		return forever, nil
	}
	return time.Duration(n * float64(unit)), nil
}

// sum adds durations of which either may be forever.
func sum(a, b time.Duration) time.Duration {
	if a == forever || b == forever || a > forever-b {
		return forever
	}
	return a + b
}
