package shell

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// builtin is a command of the shell itself. It returns its status.
type builtin func(s *Shell, ctx context.Context, args []string) (int, error)

// findBuiltin returns the builtin of that name; nil if there is none.
func findBuiltin(name string) builtin {
	switch name {
	case ":", "true", "hash":
		return succeed
	case "false":
		return fails
	case "echo":
		return echoBuiltin
	case "printf":
		return printfBuiltin
	case "test", "[":
		return testBuiltin
	case "read":
		return readBuiltin
	case "exit":
		return exitBuiltin
	case "return":
		return returnBuiltin
	case "break", "continue":
		return breakBuiltin
	case "eval":
		return evalBuiltin
	case "source", ".":
		return sourceBuiltin
	case "exec":
		return execBuiltin
	case "command", "builtin":
		return commandBuiltin
	case "type":
		return typeBuiltin
	case "cd":
		return cdBuiltin
	case "pwd":
		return pwdBuiltin
	case "pushd", "popd", "dirs":
		return dirsBuiltin
	case "alias":
		return aliasBuiltin
	case "unalias":
		return unaliasBuiltin
	case "let":
		return letBuiltin
	case "export", "readonly", "local", "declare", "typeset":
		return declareBuiltin
	case "set":
		return setBuiltin
	case "shopt":
		return shoptBuiltin
	case "shift":
		return shiftBuiltin
	case "unset":
		return unsetBuiltin
	case "getopts":
		return getoptsBuiltin
	case "mapfile", "readarray":
		return mapfileBuiltin
	case "trap":
		return trapBuiltin
	case "wait":
		return waitBuiltin
	case "jobs":
		return jobsBuiltin
	case "fg", "bg":
		return fgBuiltin
	case "kill":
		return killBuiltin
	case "umask":
		return umaskBuiltin
	case "times":
		return timesBuiltin
	case "ulimit":
		return ulimitBuiltin
	}
	return nil
}

func succeed(*Shell, context.Context, []string) (int, error) { return 0, nil }
func fails(*Shell, context.Context, []string) (int, error)   { return 1, nil }

func echoBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	newline, escaped := "\n", false
	args = args[1:]
	for ; len(args) > 0; args = args[1:] {
		flag := args[0]
		if len(flag) < 2 || flag[0] != '-' || strings.Trim(flag[1:], "neE") != "" {
			break
		}
		if strings.Contains(flag, "n") {
			newline = ""
		}
		if i := strings.LastIndexAny(flag, "eE"); i > 0 {
			escaped = flag[i] == 'e'
		}
	}
	size := 1
	for _, arg := range args {
		size += len(arg) + 1
	}
	if err := s.hold(size); err != nil {
		return 1, err
	}
	text := strings.Join(args, " ")
	if escaped {
		var stop bool
		if text, stop = escapes(text, echoEscapes); stop {
			newline = ""
		}
	}
	err := s.files[1].write(ctx, text+newline)
	return oneIf(err != nil), err
}

func exitBuiltin(s *Shell, _ context.Context, args []string) (int, error) {
	status := s.status
	if len(args) > 1 && unknown.In(args[1]) {
		status = unknown.Succeeded
	} else if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			s.complain("exit: Illegal number: %s", args[1])
			n = 2
		}
		status = n & 0xff
	}
	s.exited = true
	return status, &jump{kind: jumpExit}
}

func returnBuiltin(s *Shell, _ context.Context, args []string) (int, error) {
	status := s.status
	if len(args) > 1 && unknown.In(args[1]) {
		status = unknown.Succeeded
	} else if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			s.complain("return: Illegal number: %s", args[1])
			return 2, nil
		}
		status = n & 0xff
	}
	if len(s.frames) == 0 && s.sourced == 0 {
		return status, &jump{kind: jumpExit}
	}
	return status, &jump{kind: jumpReturn}
}

func breakBuiltin(s *Shell, _ context.Context, args []string) (int, error) {
	n := 1
	if len(args) > 1 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil || n < 1 {
			s.complain("%s: Illegal number: %s", args[0], args[1])
			return 2, nil
		}
	}
	if s.loops == 0 {
		return 0, nil
	}
	j := &jump{kind: jumpBreak, n: min(n, s.loops)}
	if args[0] == "continue" {
		j.kind = jumpContinue
	}
	return 0, j
}

func evalBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	size := 0
	for _, arg := range args[1:] {
		size += len(arg) + 1
	}
	if err := s.hold(size); err != nil {
		return 1, err
	}
	err := s.source(ctx, strings.Join(args[1:], " "), s.Name)
	return s.status, err
}

func sourceBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	if len(args) < 2 {
		s.complain("%s: filename argument required", args[0])
		return 2, nil
	}
	name := args[1]
	if !strings.Contains(name, "/") {
		name = s.findSourced(name)
	}
	f, err := s.open(ctx, name, 0)
	if errors.Is(err, errReported) {
		return 2, nil
	}
	if err != nil {
		return 1, err
	}
	data, err := s.readAll(ctx, f.in)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			s.complain("%s: %s", args[1], reason(err))
			return 1, nil
		}
		return 1, err
	}
	params := s.params
	if len(args) > 2 {
		s.params = args[2:]
		defer func() { s.params = params }()
	}
	s.sourced++
	defer func() { s.sourced-- }()
	err = s.source(ctx, string(data), name)
	if j := jumped(err); j != nil && j.kind == jumpReturn {
		err = nil
	}
	return s.status, err
}

// findSourced returns the file that source reads for a name without a slash: one in a directory of PATH, in
// the working directory, or one that may be in either.
func (s *Shell) findSourced(name string) string {
	search, _ := s.vars["PATH"].single()
	perhaps := ""
	for _, dir := range append(strings.Split(search, ":"), s.Dir) {
		file := path.Join(s.absolute(dir), name)
		switch info, err := s.Container.Stat(file); {
		case err == nil && !info.IsDir():
			return file
		case errors.Is(err, unknown.ErrFile) && perhaps == "":
			perhaps = file
		}
	}
	if perhaps != "" {
		return perhaps
	}
	return name
}

func execBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	args = args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		skip := 1
		if args[0] == "-a" {
			skip = 2
		}
		args = args[min(skip, len(args)):]
	}
	if len(args) == 0 {
		return 0, nil
	}
	s.onExit = ""
	s.nextPID = s.PID // it takes the shell's place
	err := s.program(ctx, args)
	if err == nil {
		s.exited = true
		err = &jump{kind: jumpExit}
	}
	return s.status, err
}

func commandBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	name := args[0]
	args = args[1:]
	mode := ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && name == "command" {
		if args[0] != "-p" {
			mode = args[0]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return 0, nil
	}
	switch mode {
	case "-v", "-V":
		status := 0
		for _, arg := range args {
			text := s.describe(arg, mode == "-V")
			if text == "" {
				status = exitNotFound
				if mode == "-V" {
					s.files[1].print(ctx, arg+": not found\n")
				}
				continue
			}
			if unknown.In(text) && status == 0 {
				s.Container.Assume(unknown.Show(arg) + " exists")
				status = unknown.Succeeded
			}
			if err := s.files[1].write(ctx, text+"\n"); err != nil {
				return 1, err
			}
		}
		return status, nil
	}
	if run := findBuiltin(args[0]); run != nil {
		return run(s, ctx, args)
	}
	if name == "builtin" {
		s.complain("builtin: %s: not a shell builtin", args[0])
		return 1, nil
	}
	err := s.program(ctx, args)
	return s.status, err
}

const exitNotFound = 127

// describe returns what a command name stands for; "" if it stands for nothing.
func (s *Shell) describe(name string, long bool) string {
	text, kind := name, ""
	search, _ := s.vars["PATH"].single()
	switch {
	case s.aliases[name] != "":
		text, kind = "alias "+name+"="+quote(s.aliases[name]), " is an alias for "+s.aliases[name]
	case isKeyword(name):
		kind = " is a shell keyword"
	case s.functions[name] != nil:
		kind = " is a function"
	case findBuiltin(name) != nil:
		kind = " is a shell builtin"
	default:
		if text = s.Container.Find(name, s.Dir, search); text == "" {
			return ""
		}
		kind = " is " + text
	}
	if long {
		return name + kind
	}
	return text
}

func isKeyword(name string) bool {
	return slices.Contains([]string{"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function", "select", "time", "{", "}", "!", "[["}, name)
}

func typeBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	status := 0
	short := false
	for _, arg := range args[1:] {
		if arg == "-t" || arg == "-p" || arg == "-P" || arg == "-a" {
			short = arg == "-t"
			continue
		}
		text := s.describe(arg, true)
		if short {
			text = s.kindOf(arg)
		}
		if text == "" {
			status = exitNotFound
			if !short {
				s.files[1].print(ctx, arg+": not found\n")
			}
			continue
		}
		if unknown.In(text) && status == 0 {
			s.Container.Assume(unknown.Show(arg) + " exists")
			status = unknown.Succeeded
		}
		if err := s.files[1].write(ctx, text+"\n"); err != nil {
			return 1, err
		}
	}
	return status, nil
}

// kindOf is the answer of type -t.
func (s *Shell) kindOf(name string) string {
	search, _ := s.vars["PATH"].single()
	switch {
	case s.aliases[name] != "":
		return "alias"
	case isKeyword(name):
		return "keyword"
	case s.functions[name] != nil:
		return "function"
	case findBuiltin(name) != nil:
		return "builtin"
	case unknown.In(s.Container.Find(name, s.Dir, search)):
		return unknown.Text
	case s.Container.Find(name, s.Dir, search) != "":
		return "file"
	}
	return ""
}

func cdBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	args = args[1:]
	for len(args) > 0 && (args[0] == "-L" || args[0] == "-P" || args[0] == "--" || args[0] == "-e") {
		args = args[1:]
	}
	dir, _ := s.vars["HOME"].single()
	if len(args) > 0 {
		dir = args[0]
	}
	shown := dir == "-"
	if shown {
		dir, _ = s.vars["OLDPWD"].single()
	}
	if dir == "" {
		return 0, nil
	}
	full := s.absolute(dir)
	if search, _ := s.vars["CDPATH"].single(); search != "" && !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, ".") {
		for _, root := range strings.Split(search, ":") {
			if info, err := s.Container.Stat(path.Join(s.absolute(root), dir)); err == nil && info.IsDir() {
				full = path.Join(s.absolute(root), dir)
				shown = true
				break
			}
		}
	}
	if err := s.setDir(full); err != nil {
		if errors.Is(err, ErrOutOfMemory) || jumped(err) != nil {
			return 1, err
		}
		s.complain("cd: can't cd to %s: %s", dir, notDirectory(err))
		return 2, nil
	}
	if shown {
		return 0, s.files[1].write(ctx, full+"\n")
	}
	return 0, nil
}

func notDirectory(err error) string {
	if errors.Is(err, fs.ErrInvalid) {
		return "Not a directory"
	}
	return reason(err)
}

func pwdBuiltin(s *Shell, ctx context.Context, _ []string) (int, error) {
	return 0, s.files[1].write(ctx, s.Dir+"\n")
}

func dirsBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	switch {
	case args[0] == "pushd" && len(args) > 1:
		old := s.Dir
		if status, err := cdBuiltin(s, ctx, args); status != 0 || err != nil {
			return status, err
		}
		if err := s.Container.Reserve(int64(len(old) + pieceBytes)); err != nil {
			return 1, err
		}
		s.owned += int64(len(old) + pieceBytes)
		s.dirs = append(s.dirs, old)
	case args[0] == "popd":
		if len(s.dirs) == 0 {
			s.complain("popd: directory stack empty")
			return 1, nil
		}
		last := s.dirs[len(s.dirs)-1]
		s.dirs = s.dirs[:len(s.dirs)-1]
		if status, err := cdBuiltin(s, ctx, []string{"cd", last}); status != 0 || err != nil {
			return status, err
		}
	}
	all := []string{s.Dir}
	for _, dir := range slices.Backward(s.dirs) {
		all = append(all, dir)
	}
	return 0, s.files[1].write(ctx, strings.Join(all, " ")+"\n")
}

func aliasBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	status := 0
	for _, arg := range args[1:] {
		name, text, assigns := strings.Cut(arg, "=")
		if assigns {
			if err := s.Container.Reserve(int64(len(arg) + variableBytes)); err != nil {
				return 1, err
			}
			s.owned += int64(len(arg) + variableBytes)
			s.aliases[name] = text
			continue
		}
		if text, ok := s.aliases[name]; ok {
			s.files[1].print(ctx, name+"="+quote(text)+"\n")
			continue
		}
		s.complain("alias: %s not found", name)
		status = 1
	}
	if len(args) == 1 {
		for _, name := range sortedKeys(s.aliases) {
			s.files[1].print(ctx, name+"="+quote(s.aliases[name])+"\n")
		}
	}
	return status, nil
}

func unaliasBuiltin(s *Shell, _ context.Context, args []string) (int, error) {
	for _, arg := range args[1:] {
		if arg == "-a" {
			clear(s.aliases)
		}
		delete(s.aliases, arg)
	}
	return 0, nil
}

func letBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	status := 1
	for _, arg := range args[1:] {
		n, err := s.evaluate(ctx, arg, 0)
		if errors.Is(err, errUnknownNumber) {
			status = unknown.Succeeded
			continue
		}
		if err != nil {
			return s.status, err
		}
		status = oneIf(n == 0)
	}
	return status, nil
}

// declareBuiltin is for export and the like behind command and builtin, where the parser sees words only.
func declareBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	clause := &syntax.DeclClause{Variant: &syntax.Lit{Value: args[0]}}
	for _, arg := range args[1:] {
		word := &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: arg}}}
		clause.Args = append(clause.Args, &syntax.Assign{Naked: true, Value: word})
	}
	err := s.declareClause(ctx, clause)
	return s.status, err
}

func umaskBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	if len(args) > 1 {
		return 0, nil
	}
	return 0, s.files[1].write(ctx, "0022\n")
}

func timesBuiltin(s *Shell, ctx context.Context, _ []string) (int, error) {
	return 0, s.files[1].write(ctx, "0m0.00s 0m0.00s\n0m0.00s 0m0.00s\n")
}
