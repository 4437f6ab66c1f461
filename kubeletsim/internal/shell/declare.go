package shell

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declaration has the flags and the outcome of declare or one of its variants.
type declaration struct {
	// on and off are the flags that are set and removed.
	on, off string
	local   bool
	print   bool
	// failed means that a name is not valid, or that no variable or function has it.
	failed bool
}

// declareClause executes declare, local, export, readonly, typeset and nameref.
func (s *Shell) declareClause(ctx context.Context, cmd *syntax.DeclClause) error {
	d := declaration{}
	switch cmd.Variant.Value {
	case "export":
		d.on = "x"
	case "readonly":
		d.on = "r"
	case "nameref":
		d.on = "n"
	case "local":
		d.local = true
		if len(s.frames) == 0 {
			s.complain("local: not in a function")
			s.status = 1
			return nil
		}
	default:
		d.local = len(s.frames) > 0
	}
	declared := false
	for _, a := range cmd.Args {
		if a.Name == nil {
			words, err := s.fields(ctx, []*syntax.Word{a.Value})
			if err != nil {
				return err
			}
			for _, word := range words {
				if d.flag(word) {
					continue
				}
				declared = true
				name, value, assigns := strings.Cut(word, "=")
				if err := s.declare(ctx, &d, name, func() error {
					if !assigns {
						return nil
					}
					return s.assign(name, value)
				}); err != nil {
					return err
				}
			}
			continue
		}
		declared = true
		if err := s.declare(ctx, &d, a.Name.Value, func() error {
			if a.Naked {
				return nil
			}
			return s.assignment(ctx, a)
		}); err != nil {
			return err
		}
	}
	var err error
	if !declared || d.print || d.ofFunctions() {
		err = s.printDeclared(ctx, cmd, &d)
	}
	s.status = oneIf(d.failed) // $? in the arguments is the status of the command before
	return s.brokenPipe(err)
}

// ofFunctions reports whether the names denote functions.
func (d *declaration) ofFunctions() bool { return strings.ContainsAny(d.on, "fF") }

// flag takes an argument that is a flag.
func (d *declaration) flag(word string) bool {
	if len(word) < 2 || word[0] != '-' && word[0] != '+' {
		return false
	}
	for _, c := range word[1:] {
		switch {
		case c == 'p':
			d.print = true
		case c == 'g':
			d.local = false
		case c == 'n' && d.on == "x": // export -n
			d.on, d.off = "", "x"
		case word[0] == '-':
			d.on += string(c)
		default:
			d.off += string(c)
		}
	}
	return true
}

func (s *Shell) declare(ctx context.Context, d *declaration, name string, assign func() error) error {
	if d.print || d.ofFunctions() {
		return nil
	}
	if !validName(name) {
		s.complain("%s: bad variable name", name)
		d.failed = true
		return nil
	}
	if d.local {
		s.localize(name)
	}
	has := func(flag string) bool { return strings.Contains(d.on, flag) }
	v := s.vars[name]
	if v == nil {
		v = &variable{}
		s.vars[name] = v
	}
	switch {
	case has("a"):
		v.toArray(indexed)
	case has("A"):
		v.toArray(associative)
	}
	v.integer = v.integer && !strings.Contains(d.off, "i") || has("i")
	v.lower, v.upper = v.lower || has("l"), v.upper || has("u")
	if err := assign(); err != nil {
		return err
	}
	v = s.vars[name]
	v.exported = v.exported && !strings.Contains(d.off, "x") || has("x")
	v.readonly = v.readonly || has("r")
	v.reference = v.reference || has("n")
	return nil
}

// printDeclared writes variables or functions as commands that declare them.
func (s *Shell) printDeclared(ctx context.Context, cmd *syntax.DeclClause, d *declaration) error {
	wanted := map[string]bool{}
	for _, a := range cmd.Args {
		if a.Name != nil {
			wanted[a.Name.Value] = true
			if d.ofFunctions() && s.functions[a.Name.Value] == nil || !d.ofFunctions() && s.vars[a.Name.Value] == nil {
				d.failed = true
			}
			if d.failed && !d.ofFunctions() {
				s.complain("%s: not found", a.Name.Value)
			}
		}
	}
	if d.ofFunctions() {
		for _, name := range slices.Sorted(maps.Keys(s.functions)) {
			text := "declare -f " + name
			switch {
			case len(wanted) > 0 && !wanted[name]:
				continue
			case len(wanted) > 0 && strings.Contains(d.on, "F"):
				text = name
			}
			if err := s.files[1].write(ctx, text+"\n"); err != nil {
				return err
			}
		}
		return nil
	}
	prefix := cmd.Variant.Value
	for _, name := range slices.Sorted(maps.Keys(s.vars)) {
		v := s.vars[name]
		if len(wanted) > 0 && !wanted[name] || strings.Contains(d.on, "x") && !v.exported || strings.Contains(d.on, "r") && !v.readonly {
			continue
		}
		flags := attributes(v)
		if flags == "" {
			flags = "-"
		}
		line := prefix + " " + name
		if prefix != "export" && prefix != "readonly" {
			line = "declare -" + flags + " " + name
		}
		if v.set {
			line += "=" + v.literal()
		}
		if err := s.files[1].write(ctx, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// literal returns a variable's value as in a script.
func (v *variable) literal() string {
	if v.kind == scalar {
		return doubleQuote(v.text)
	}
	var items []string
	names, values := v.names(), v.values()
	for i, name := range names {
		items = append(items, "["+name+"]="+doubleQuote(values[i]))
	}
	return "(" + strings.Join(items, " ") + ")"
}

// attributes returns the flags of declare that a variable has.
func attributes(v *variable) string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	for _, a := range []struct {
		flag byte
		on   bool
	}{
		{'a', v.kind == indexed}, {'A', v.kind == associative}, {'i', v.integer}, {'l', v.lower}, {'n', v.reference}, {'r', v.readonly}, {'u', v.upper}, {'x', v.exported},
	} {
		if a.on {
			b.WriteByte(a.flag)
		}
	}
	return b.String()
}

// doubleQuote quotes a text with double quotes.
func doubleQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(text) + `"`
}

// quote quotes a text with single quotes.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// quoteIfNeeded quotes a text that is not one plain word.
func quoteIfNeeded(text string) string {
	if text != "" && !strings.ContainsAny(text, " \t\n\"'\\$`&|;<>()*?[]{}~#!") {
		return text
	}
	return quote(text)
}

// option is an option of set.
type option struct {
	flag byte
	name string
}

var shortOptions = []option{
	{'a', "allexport"},
	{'e', "errexit"},
	{'f', "noglob"},
	{'h', "hashall"},
	{'n', "noexec"},
	{'u', "nounset"},
	{'v', "verbose"},
	{'x', "xtrace"},
	{'C', "noclobber"},
	{'m', "monitor"},
	{'b', "notify"},
	{'E', "errtrace"},
	{'T', "functrace"},
}

// longOptions are those without a letter.
var longOptions = []string{"pipefail", "posix", "emacs", "vi", "history", "ignoreeof", "interactive-comments"}

func (s *Shell) setLong(name string, on bool) bool {
	known := slices.Contains(longOptions, name) || slices.ContainsFunc(shortOptions, func(o option) bool { return o.name == name })
	if known {
		s.options[name] = on
	}
	return known
}

func setBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	args = args[1:]
	if len(args) == 0 {
		for _, name := range slices.Sorted(maps.Keys(s.vars)) {
			v := s.vars[name]
			if !v.set {
				continue
			}
			text := quoteIfNeeded(v.text)
			if v.kind != scalar {
				text = v.literal()
			}
			if err := s.files[1].write(ctx, name+"="+text+"\n"); err != nil {
				return 1, err
			}
		}
		return 0, nil
	}
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" || arg == "-" {
			return 0, s.setParams(args[1:])
		}
		if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
			return 0, s.setParams(args)
		}
		args = args[1:]
		for _, c := range []byte(arg[1:]) {
			if c == 'o' {
				if len(args) == 0 {
					return 0, s.printOptions(ctx)
				}
				if !s.setLong(args[0], arg[0] == '-') {
					s.complain("set: illegal option -o %s", args[0])
					return 2, nil
				}
				args = args[1:]
				continue
			}
			i := slices.IndexFunc(shortOptions, func(o option) bool { return o.flag == c })
			if i < 0 {
				s.complain("set: illegal option -%c", c)
				return 2, nil
			}
			s.options[shortOptions[i].name] = arg[0] == '-'
		}
	}
	return 0, nil
}

func (s *Shell) printOptions(ctx context.Context) error {
	names := slices.Clone(longOptions)
	for _, o := range shortOptions {
		names = append(names, o.name)
	}
	slices.Sort(names)
	for _, name := range names {
		state := "off"
		if s.options[name] {
			state = "on"
		}
		if err := s.files[1].write(ctx, name+strings.Repeat(" ", max(1, 16-len(name)))+state+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func shoptBuiltin(s *Shell, _ context.Context, args []string) (int, error) {
	on, status := true, 0
	for _, arg := range args[1:] {
		switch arg {
		case "-s":
		case "-u":
			on = false
		case "-q", "-p", "-o":
		default:
			if len(args) > 2 && args[1] == "-q" {
				status = max(status, oneIf(!s.options[arg]))
				continue
			}
			s.options[arg] = on
		}
	}
	return status, nil
}

func shiftBuiltin(s *Shell, _ context.Context, args []string) (int, error) {
	n := 1
	if len(args) > 1 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil || n < 0 {
			s.complain("shift: Illegal number: %s", args[1])
			return 2, nil
		}
	}
	if n > len(s.params) {
		return 1, nil
	}
	s.params = s.params[n:]
	return 0, nil
}

func unsetBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	functions := false
	status := 0
	for _, arg := range args[1:] {
		switch {
		case arg == "-f":
			functions = true
		case arg == "-v":
		case functions:
			delete(s.functions, arg)
		default:
			if err := s.unset(ctx, arg); err != nil {
				if jumped(err) == nil {
					return 1, err
				}
				status = 1
			}
		}
	}
	return status, nil
}

func (s *Shell) unset(ctx context.Context, arg string) error {
	name, index, element := strings.Cut(strings.TrimSuffix(arg, "]"), "[")
	v := s.vars[name]
	switch {
	case v == nil:
		if !element {
			delete(s.functions, name)
		}
	case v.readonly:
		return s.fail("%s: is read only", name)
	case element && v.kind == associative:
		delete(v.keys, index)
	case element && v.kind == indexed:
		n, err := s.evaluate(ctx, index, 0)
		if err != nil {
			return err
		}
		delete(v.elems, int(n))
	default:
		s.forget(v)
		delete(s.vars, name)
	}
	return nil
}
