package script

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/applets"
)

func itoa(n int32) string { return strconv.Itoa(int(n)) }

// substitute executes a command substitution.
func (s *shell) substitute(w io.Writer, cmd *syntax.CmdSubst) error {
	if cmd.TempFile || cmd.ReplyVar {
		return ErrNotPredictable
	}
	out := s.out
	defer func() { s.out = out }()
	captured := 0
	s.out = func(text string) {
		if captured += len(text); captured <= maxCaptured {
			_, _ = io.WriteString(w, text)
		}
	}
	if err := s.subshell(cmd.Stmts); err != nil {
		return err
	}
	if captured > maxCaptured {
		return ErrNotPredictable
	}
	return nil
}

func (s *shell) assign(assigns []*syntax.Assign) error {
	for _, a := range assigns {
		if a.Name == nil || a.Index != nil || a.Array != nil {
			return ErrNotPredictable
		}
		if a.Naked {
			continue
		}
		value, err := s.decisive(a.Value)
		if err != nil {
			return err
		}
		if a.Append {
			value = s.Get(a.Name.Value).Str + value
		}
		if s.set(a.Name.Value, value); s.hidden {
			return ErrNotPredictable
		}
	}
	return nil
}

// call executes a simple command.
func (s *shell) call(cmd *syntax.CallExpr) error {
	if len(cmd.Args) == 0 {
		s.status = 0
		return s.assign(cmd.Assigns)
	}
	if len(cmd.Assigns) > 0 {
		return ErrNotPredictable
	}
	before := s.deciding
	switch cmd.Args[0].Lit() {
	case "echo", "printf", "date":
	default:
		s.deciding = true
	}
	words, err := s.words(cmd.Args)
	s.deciding = before
	switch {
	case err != nil:
		return err
	case len(words) == 0:
		s.status = 0
		return nil
	}
	if words[0] == "exec" && len(words) > 1 {
		if err := s.execute(words[1:]); err != nil {
			return err
		}
		return &leave{kind: leaveScript}
	}
	if ok, err := s.builtin(words); ok {
		return err
	}
	return s.execute(words)
}

// builtin executes the shell's own commands.
func (s *shell) builtin(words []string) (known bool, err error) {
	switch words[0] {
	case ":":
		s.status = 0
	case "exit":
		if len(words) > 2 {
			return true, ErrNotPredictable
		}
		if len(words) == 2 {
			if s.status, err = podspec.ParseExitCode(words[1]); err != nil {
				return true, ErrNotPredictable
			}
		}
		return true, &leave{kind: leaveScript}
	case leaveLoop, leaveIterator:
		n := 1
		if len(words) > 1 {
			if n, err = strconv.Atoi(words[1]); err != nil || n < 1 {
				return true, ErrNotPredictable
			}
		}
		s.status = 0
		return true, &leave{kind: words[0], n: n}
	case "set":
		return true, s.options(words[1:])
	default:
		return false, nil
	}
	return true, nil
}

// options handles set with -e and with options that do not affect the prediction.
func (s *shell) options(words []string) error {
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "-e":
			s.errexit = true
		case "+e":
			s.errexit = false
		case "-u", "+u":
		case "-eu", "-ue":
			s.errexit = true
		case "-o", "-eo", "-euo":
			if i++; i == len(words) || words[i] != "pipefail" {
				return ErrNotPredictable
			}
			s.errexit = s.errexit || words[i-1] != "-o"
		default:
			return ErrNotPredictable
		}
	}
	s.status = 0
	return nil
}

// execute runs one of the predictable programs.
func (s *shell) execute(words []string) (err error) {
	s.status = 0
	switch args := words[1:]; ProgramName(words[0]) {
	case "true":
	case "false":
		s.status = 1
	case "sleep":
		return s.pause(args)
	case "echo":
		return s.echo(args)
	case "printf":
		return s.printf(args)
	case "date":
		return s.date(args)
	case "seq":
		return s.seq(args)
	case "expr":
		return s.expr(args)
	case "hostname":
		if len(args) > 0 {
			return ErrNotPredictable
		}
		s.out(s.program.vars.Values["HOSTNAME"] + "\n")
	case "[":
		if len(args) == 0 || args[len(args)-1] != "]" {
			return ErrNotPredictable
		}
		return s.test(args[:len(args)-1])
	case "test":
		return s.test(args)
	default:
		if !s.assuming || applets.Runs(words) {
			return ErrNotPredictable
		}
	}
	return nil
}

func (s *shell) expr(args []string) error {
	value, holds, err := applets.Expr(args)
	switch {
	case errors.Is(err, applets.ErrExprUnknown):
		return ErrNotPredictable
	case err != nil:
		s.err("expr: " + err.Error() + "\n")
		s.status = 2
		return nil
	}
	s.out(value + "\n")
	s.status = oneIf(!holds)
	return nil
}

func (s *shell) pause(args []string) error {
	if len(args) == 0 {
		return ErrNotPredictable
	}
	for _, arg := range args {
		d, err := applets.ParseSleep(arg)
		if err != nil {
			return ErrNotPredictable
		}
		if err := s.sleep(d); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) echo(args []string) error {
	newline, escapes := "\n", false
flags:
	for ; len(args) > 0; args = args[1:] {
		flag := args[0]
		if len(flag) < 2 || flag[0] != '-' || strings.Trim(flag[1:], "neE") != "" {
			break flags
		}
		if strings.Contains(flag, "n") {
			newline = ""
		}
		escapes = strings.LastIndexByte(flag, 'e') > strings.LastIndexByte(flag, 'E')
	}
	text := strings.Join(args, " ")
	if escapes {
		var err error
		if text, _, err = expand.Format(s.config(), strings.ReplaceAll(text, "%", "%%"), nil); err != nil {
			return ErrNotPredictable
		}
	}
	s.out(text + newline)
	return nil
}

func (s *shell) printf(args []string) error {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return ErrNotPredictable
	}
	format, args := args[0], args[1:]
	if wide(format) {
		return ErrNotPredictable
	}
	for {
		text, used, err := expand.Format(s.config(), format, args)
		if err != nil {
			return ErrNotPredictable
		}
		s.out(text)
		if used <= 0 || used >= len(args) {
			return nil
		}
		args = args[used:]
	}
}

// maxSequence bounds the number of lines that seq writes.
const maxSequence = 100000

func (s *shell) seq(args []string) error {
	bounds := []int{1, 1, 0} // first, step, last
	numbers := make([]int, len(args))
	for i, arg := range args {
		var err error
		if numbers[i], err = strconv.Atoi(arg); err != nil {
			return ErrNotPredictable
		}
	}
	switch len(numbers) {
	case 1:
		bounds[2] = numbers[0]
	case 2:
		bounds[0], bounds[2] = numbers[0], numbers[1]
	case 3:
		copy(bounds, numbers)
	default:
		return ErrNotPredictable
	}
	first, step, last := bounds[0], bounds[1], bounds[2]
	if step == 0 || (last-first)/step > maxSequence {
		return ErrNotPredictable
	}
	for n := first; step > 0 && n <= last || step < 0 && n >= last; n += step {
		s.out(strconv.Itoa(n) + "\n")
	}
	return nil
}

// test compares strings and whole numbers. Tests of files are not predictable.
func (s *shell) test(args []string) error {
	if len(args) > 0 && args[0] == "!" {
		err := s.test(args[1:])
		s.status = oneIf(s.status == 0)
		return err
	}
	holds := false
	switch len(args) {
	case 0:
	case 1:
		holds = args[0] != ""
	case 2:
		switch args[0] {
		case "-z":
			holds = args[1] == ""
		case "-n":
			holds = args[1] != ""
		default:
			return ErrNotPredictable
		}
	case 3:
		var err error
		if holds, err = compare(args[0], args[1], args[2]); err != nil {
			return err
		}
	default:
		return ErrNotPredictable
	}
	s.status = oneIf(!holds)
	return nil
}

func compare(left, operator, right string) (bool, error) {
	switch operator {
	case "=", "==":
		return left == right, nil
	case "!=":
		return left != right, nil
	}
	a, errA := strconv.Atoi(left)
	b, errB := strconv.Atoi(right)
	if errA != nil || errB != nil {
		return false, ErrNotPredictable
	}
	switch operator {
	case "-eq":
		return a == b, nil
	case "-ne":
		return a != b, nil
	case "-lt":
		return a < b, nil
	case "-le":
		return a <= b, nil
	case "-gt":
		return a > b, nil
	case "-ge":
		return a >= b, nil
	}
	return false, ErrNotPredictable
}
