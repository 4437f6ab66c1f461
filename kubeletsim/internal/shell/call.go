package shell

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// statusPipe is the status of a command that writes to a pipe without a reader, as with SIGPIPE.
const statusPipe = 141

// call executes a simple command.
func (s *Shell) call(ctx context.Context, cmd *syntax.CallExpr) error {
	cmd, err := s.unalias(ctx, cmd)
	if err != nil {
		return err
	}
	args, err := s.fields(ctx, cmd.Args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		before := s.substituted
		for _, a := range cmd.Assigns {
			if err := s.assignment(ctx, a); err != nil {
				return err
			}
		}
		if s.substituted == before { // otherwise the last substitution has set the status
			s.status = 0
		}
		s.trace(ctx, assignTexts(s, cmd.Assigns))
		return nil
	}
	s.trace(ctx, args)
	if len(cmd.Assigns) == 0 {
		return s.execute(ctx, args)
	}
	saved := make(map[string]*variable)
	for _, a := range cmd.Assigns {
		name := a.Name.Value
		if _, again := saved[name]; !again {
			saved[name] = s.vars[name]
			if old := s.vars[name]; old != nil && !old.readonly {
				s.vars[name] = old.clone()
				s.vars[name].reserved = 0
			}
		}
		if err := s.assignment(ctx, a); err != nil {
			s.restore(saved)
			return err
		}
		s.export(name)
	}
	err = s.execute(ctx, args)
	s.restore(saved)
	return err
}

// restore sets variables to what they were.
func (s *Shell) restore(saved map[string]*variable) {
	for name, old := range saved {
		s.forget(s.vars[name])
		if s.vars[name] = old; old == nil {
			delete(s.vars, name)
		}
	}
}

// unalias replaces a command's first word by the alias of that name.
func (s *Shell) unalias(ctx context.Context, cmd *syntax.CallExpr) (*syntax.CallExpr, error) {
	seen := map[string]bool{}
	for len(s.aliases) > 0 && len(cmd.Args) > 0 {
		name := cmd.Args[0].Lit()
		text, ok := s.aliases[name]
		if !ok || seen[name] || name == "" {
			break
		}
		seen[name] = true
		file, err := Parse(ctx, text, s.Name)
		if err != nil || len(file.Stmts) != 1 {
			return cmd, ctx.Err()
		}
		own, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
		if !ok || len(file.Stmts[0].Redirs) > 0 {
			break
		}
		cmd = &syntax.CallExpr{Assigns: append(own.Assigns[:len(own.Assigns):len(own.Assigns)], cmd.Assigns...), Args: append(own.Args, cmd.Args[1:]...)}
	}
	return cmd, nil
}

// trace writes a command for set -x.
func (s *Shell) trace(ctx context.Context, args []string) {
	if !s.options["xtrace"] || len(args) == 0 {
		return
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = quoteIfNeeded(arg)
	}
	prefix, _ := s.vars["PS4"].single()
	s.files[2].print(ctx, prefix+strings.Join(words, " ")+"\n")
}

func assignTexts(s *Shell, assigns []*syntax.Assign) []string {
	if !s.options["xtrace"] {
		return nil
	}
	var texts []string
	for _, a := range assigns {
		value, _ := s.vars[a.Name.Value].single()
		texts = append(texts, a.Name.Value+"="+value)
	}
	return texts
}

// execute executes a command with its arguments: a function, a builtin or a program.
func (s *Shell) execute(ctx context.Context, args []string) error {
	if f := s.functions[args[0]]; f != nil {
		return s.callFunction(ctx, f, args)
	}
	if run := findBuiltin(args[0]); run != nil {
		return s.callBuiltin(ctx, run, args)
	}
	if unknown.Is(args[0]) {
		s.imported = true
	}
	return s.program(ctx, args)
}

func (s *Shell) callBuiltin(ctx context.Context, run builtin, args []string) error {
	status, err := run(s, ctx, args)
	s.status = status
	return s.brokenPipe(err)
}

// brokenPipe ends a subshell whose output is not read any more, as SIGPIPE does.
func (s *Shell) brokenPipe(err error) error {
	switch {
	case errors.Is(err, syscall.EPIPE):
		s.status = statusPipe
		return &jump{kind: jumpExit}
	case errors.Is(err, syscall.EBADF), errors.Is(err, syscall.ENOSPC):
		s.complain("write error: %s", reason(err))
		s.status = 1
		return nil
	}
	return err
}

// program executes a program.
func (s *Shell) program(ctx context.Context, args []string) error {
	s.children++
	status, err := s.Container.Run(ctx, &Program{
		Awaits: s.awaits(),
		Shell:  s.Name, Args: args, Env: s.environment(), Dir: s.Dir, In: s.files[0].reader(), Out: s.files[1].writer(), Err: s.files[2].writer(),
		Seed: mix(s.Seed, s.children), PID: s.nextPID, Descriptors: s.descriptors(),
	})
	s.status = status
	return err
}

func (s *Shell) callFunction(ctx context.Context, f *function, args []string) error {
	params, bytes, loops, frames := s.params, s.paramBytes, s.loops, s.frames
	s.params, s.paramBytes, s.loops = args[1:], 0, 0
	frame := map[string]*variable{}
	s.frames = append(s.frames, frame)
	err := s.nested(func() error { return s.stmt(ctx, f.body) })
	s.restore(frame)
	s.dropParams()
	s.params, s.paramBytes, s.loops, s.frames = params, bytes, loops, frames
	if j := jumped(err); j != nil && j.kind == jumpReturn {
		return nil
	}
	return err
}

// localize gives the function under way its own variable of that name.
func (s *Shell) localize(name string) {
	frame := s.frames[len(s.frames)-1]
	if _, again := frame[name]; again {
		return
	}
	frame[name] = s.vars[name]
	fresh := &variable{}
	if old := s.vars[name]; old != nil {
		fresh.exported = old.exported
	}
	s.vars[name] = fresh
}
