package shell

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func trapBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	words := args[1:]
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	switch {
	case len(words) == 0 || words[0] == "-p":
		return 0, s.printTraps(ctx)
	case words[0] == "-l":
		return 0, s.files[1].write(ctx, "HUP INT QUIT KILL USR1 USR2 TERM\n")
	case len(words) == 1: // trap SIGNAL takes its handler back
		words = []string{"-", words[0]}
	}
	status := 0
	for _, signal := range words[1:] {
		if err := s.trap(signal, words[0]); err != nil {
			if !errors.Is(err, errReported) {
				return 1, err
			}
			status = 1
		}
	}
	return status, nil
}

// trap sets the handler of one signal, or of EXIT or ERR; "-" removes it.
func (s *Shell) trap(signal, handler string) error {
	if err := s.Container.Reserve(int64(len(handler))); err != nil {
		return err
	}
	s.owned += int64(len(handler))
	remove := handler == "-"
	if remove {
		handler = ""
	}
	name := strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	switch name {
	case "0", "EXIT":
		s.onExit = handler
		return nil
	case "ERR":
		s.onError = handler
		return nil
	case "DEBUG", "RETURN":
		return nil
	}
	if !s.Container.Trap(signal, handler, remove) {
		s.complain("trap: %s: invalid signal specification", signal)
		return errReported
	}
	if s.traps[name] = handler; remove {
		delete(s.traps, name)
	}
	return nil
}

func (s *Shell) printTraps(ctx context.Context) error {
	traps := maps.Clone(s.traps)
	if s.onExit != "" {
		traps["EXIT"] = s.onExit
	}
	if s.onError != "" {
		traps["ERR"] = s.onError
	}
	for _, name := range sortedKeys(traps) {
		if err := s.files[1].write(ctx, "trap -- "+quote(traps[name])+" "+name+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func waitBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	s.Container.Waits()
	words := args[1:]
	next := len(words) > 0 && words[0] == "-n"
	if next {
		words = words[1:]
	}
	status := 0
	if len(words) == 0 {
		jobs := s.jobs
		s.jobs = nil
		if next && len(jobs) > 1 {
			jobs, s.jobs = jobs[:1], jobs[1:]
		}
		for _, j := range jobs {
			if err := s.await(ctx, j); err != nil {
				return statusTerminated, err
			}
			if next {
				status = j.status
			}
		}
		return s.signalled(ctx, status)
	}
	for _, word := range words {
		j := s.findJob(word)
		if j == nil {
			if status = exitNotFound; unknown.In(word) {
				status = unknown.Succeeded
			}
			continue
		}
		if err := s.await(ctx, j); err != nil {
			return statusTerminated, err
		}
		status = j.status
	}
	return s.signalled(ctx, status)
}

// signalled executes the handlers of signals that came while the shell waited. It returns status, or the
// shell's own status if a handler has ended the shell.
func (s *Shell) signalled(ctx context.Context, status int) (int, error) {
	handlers, err := s.Container.Before(ctx, s.subshell)
	for _, handler := range handlers {
		if err == nil {
			err = s.handle(ctx, handler)
		}
	}
	if err != nil {
		return s.status, err
	}
	return status, nil
}

func jobsBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	for _, j := range s.jobs {
		state := "Running"
		if j.ended() {
			state = "Done"
		}
		line := "[" + strconv.Itoa(j.number) + "]   " + state + "                 " + j.text
		if len(args) > 1 && args[1] == "-p" {
			line = strconv.Itoa(j.pid)
		}
		if err := s.files[1].write(ctx, line+"\n"); err != nil {
			return 1, err
		}
	}
	s.jobs = slices.DeleteFunc(s.jobs, (*job).ended)
	return 0, nil
}

func fgBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	word := "%%"
	if len(args) > 1 {
		word = args[1]
	}
	j := s.findJob(word)
	if j == nil {
		s.complain("%s: no current job", args[0])
		return 2, nil
	}
	if args[0] == "bg" {
		return 0, nil
	}
	if err := s.await(ctx, j); err != nil {
		return statusTerminated, err
	}
	return j.status, nil
}

// killBuiltin sends signals to the shell's jobs, and to other processes by the program kill.
func killBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	signal, words := "", args[1:]
	if len(words) > 1 && words[0] == "-s" {
		signal, words = words[1], words[2:]
	} else if len(words) > 0 && strings.HasPrefix(words[0], "-") {
		signal, words = words[0][1:], words[1:]
	}
	rest := slices.Clone(args[:len(args)-len(words)])
	for _, word := range words {
		j := s.findJob(word)
		switch {
		case j == nil && strings.HasPrefix(word, "%"):
			s.complain("kill: %s: no such job", word)
			return 1, nil
		case j == nil:
			rest = append(rest, word)
		case signal != "0" && signal != "CONT" && signal != "SIGCONT":
			j.cancel()
		}
	}
	if len(rest) == len(args)-len(words) && len(words) > 0 {
		return 0, nil
	}
	return s.Container.Kill(ctx, &Program{
		Args: rest, Env: s.environment(), Dir: s.Dir, Out: s.files[1].writer(), Err: s.files[2].writer(), PID: s.nextPID,
	}), nil
}
