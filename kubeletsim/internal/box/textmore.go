package box

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

func cut(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("snC", "dfcbo")
	if !ok {
		return 1
	}
	list := flags['f'] + flags['c'] + flags['b']
	chosen, ok := parseList(list)
	if !ok {
		return p.fail("expected a list of bytes, characters, or fields")
	}
	separator := "\t"
	if has(flags, 'd') {
		separator = flags['d']
	}
	joint := separator
	if has(flags, 'o') {
		joint = flags['o']
	}
	if has(flags, 'C') {
		picked := chosen
		chosen = func(n int) bool { return !picked(n) }
	}
	return p.eachOf(ctx, names, func(line string) error {
		if err := p.keep(lineBytes * len(line)); err != nil {
			return err
		}
		defer p.drop(lineBytes * len(line))
		var parts []string
		if has(flags, 'f') {
			if parts = strings.Split(line, separator); len(parts) == 1 {
				if has(flags, 's') {
					return nil
				}
				_, err := io.WriteString(p.out, line+"\n")
				return err
			}
		} else {
			if !has(flags, 'o') {
				joint = ""
			}
			parts = strings.Split(line, "")
		}
		var kept []string
		for i, part := range parts {
			if chosen(i + 1) {
				kept = append(kept, part)
			}
		}
		_, err := io.WriteString(p.out, strings.Join(kept, joint)+"\n")
		return err
	})
}

// parseList reads 1,3-5,7- as cut takes it.
func parseList(text string) (chosen func(n int) bool, ok bool) {
	type span struct{ from, to int }
	var spans []span
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		s := span{1, 1 << 30}
		var err error
		if from != "" {
			if s.from, err = strconv.Atoi(from); err != nil || s.from < 1 {
				return nil, false
			}
		}
		switch {
		case !isRange:
			s.to = s.from
		case to != "":
			if s.to, err = strconv.Atoi(to); err != nil {
				return nil, false
			}
		}
		if from == "" && to == "" {
			return nil, false
		}
		spans = append(spans, s)
	}
	return func(n int) bool {
		for _, s := range spans {
			if n >= s.from && n <= s.to {
				return true
			}
		}
		return false
	}, true
}

func tr(ctx context.Context, p *proc) int {
	flags, sets, ok := p.parse("dscCt", "")
	if !ok || len(sets) == 0 || len(sets) == 1 && !has(flags, 'd') && !has(flags, 's') {
		return p.fail("two sets of characters are needed")
	}
	if has(flags, 'C') {
		flags['c'] = "set"
	}
	from, to := characters(sets[0]), []rune(nil)
	if len(sets) > 1 {
		to = characters(sets[1])
	}
	if len(from) > maxCharacters || len(to) > maxCharacters {
		return p.fail("a set has too many characters")
	}
	place := map[rune]int{}
	for i, c := range from {
		if _, known := place[c]; !known {
			place[c] = i
		}
	}
	in, out := bufio.NewReader(p.stdin(ctx)), bufio.NewWriter(p.out)
	last := rune(-1)
	for {
		c, _, err := in.ReadRune()
		if err != nil {
			break
		}
		if string(c) == unknown.Text {
			_, _ = out.WriteRune(c)
			continue
		}
		i, member := place[c]
		if has(flags, 'c') {
			member = !member
			i = len(to) - 1
		}
		switch {
		case member && has(flags, 'd'):
			continue
		case member && len(to) > 0:
			c = to[min(max(i, 0), len(to)-1)]
		}
		if member && has(flags, 's') && c == last {
			continue
		}
		last = c
		_, _ = out.WriteRune(c)
		if c == '\n' && out.Flush() != nil {
			return 1
		}
	}
	if out.Flush() != nil {
		return 1
	}
	return 0
}

// maxCharacters bounds a set of tr's: all of Unicode's first plane.
const maxCharacters = 1 << 16

// characters lists a set of tr's: ranges, escapes and classes.
func characters(set string) []rune {
	for class, members := range map[string]string{
		"[:lower:]": "a-z", "[:upper:]": "A-Z", "[:digit:]": "0-9", "[:alpha:]": "A-Za-z", "[:alnum:]": "0-9A-Za-z",
		"[:space:]": " \\t\\n\\r\\v\\f", "[:blank:]": " \\t", "[:punct:]": "!-/:-@\\[-`{-~",
	} {
		set = strings.ReplaceAll(set, class, members)
	}
	set = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\v`, "\v", `\f`, "\f", `\0`, "\x00", `\\`, "\\", `\[`, "[").Replace(set)
	runes := []rune(set)
	var list []rune
	for i := 0; i < len(runes) && len(list) <= maxCharacters; i++ {
		if i+2 < len(runes) && runes[i+1] == '-' && runes[i+2] >= runes[i] {
			for c := runes[i]; c <= runes[i+2] && len(list) <= maxCharacters; c++ {
				list = append(list, c)
			}
			i += 2
			continue
		}
		list = append(list, runes[i])
	}
	return list
}

// maxArguments bounds the arguments that xargs gives to one command.
const maxArguments = 5000

func xargs(ctx context.Context, p *proc) int {
	command, limit, replace, separators := p.args[1:], maxArguments, "", " \t\n\x00"
flags:
	for len(command) > 0 {
		switch flag := command[0]; {
		case (flag == "-n" || flag == "-I" || flag == "-L" || flag == "-P") && len(command) > 1:
			n, err := strconv.Atoi(command[1])
			switch {
			case flag == "-I":
				replace, limit = command[1], 1
			case err != nil || n < 1:
				return p.fail("invalid number '%s'", command[1])
			case flag != "-P":
				limit = n
			}
			command = command[2:]
		case flag == "-r" || flag == "--no-run-if-empty":
			command = command[1:]
		case flag == "-0" || flag == "--null":
			separators, command = "\x00", command[1:]
		case flag == "-r0" || flag == "-0r":
			separators, command = "\x00", command[1:]
		case flag == "-t" || flag == "-x":
			command = command[1:]
		case flag == "-d" && len(command) > 1:
			separators = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\0`, "\x00").Replace(command[1])
			command = command[2:]
		case len(flag) > 2 && flag[0] == '-' && strings.IndexByte("nILPd", flag[1]) >= 0: // -n1, -I{}
			command = append([]string{flag[:2], flag[2:]}, command[1:]...)
		case flag == "--":
			command = command[1:]
			break flags
		case len(flag) > 1 && flag[0] == '-':
			return p.unsupported(flag)
		default:
			break flags
		}
	}
	if len(command) == 0 {
		command = []string{"echo"}
	}
	data, err := p.readAll(p.stdin(ctx))
	if err == nil {
		err = p.keep(10 * len(data)) // one item for every second byte, at most
	}
	if err != nil {
		return 1
	}
	if replace != "" && separators == " \t\n\x00" {
		separators = "\n\x00" // an item is a line
	}
	items := strings.FieldsFunc(string(data), func(r rune) bool { return strings.ContainsRune(separators, r) })
	code := 0
	for len(items) > 0 && ctx.Err() == nil {
		n := min(limit, len(items))
		args := append(command[:len(command):len(command)], items[:n]...)
		if replace != "" {
			args = command[:0:0]
			for _, word := range command {
				if p.keep(strings.Count(word, replace)*len(items[0])+len(word)) != nil {
					return 1
				}
				args = append(args, strings.ReplaceAll(word, replace, items[0]))
			}
		}
		items = items[n:]
		if got := p.run(ctx, args, p.env); !unknown.Known(got) {
			code = max(code, unknown.Succeeded)
		} else if got != 0 {
			code = 123
		}
	}
	return code
}

// run runs another program in place of this one, without input.
func (p *proc) run(ctx context.Context, args []string, env map[string]string) int {
	inner := p.inner(ctx, args, env)
	inner.in = nil
	return p.become(ctx, inner)
}

// processBytes is the memory of a program or a shell that another one starts. It bounds how deep they nest.
const processBytes = 16 << 10

// become runs inner, and reports an error if the program does not exist.
func (p *proc) become(ctx context.Context, inner *proc) int {
	defer inner.free()
	if inner.keep(processBytes) != nil {
		return exitKilled
	}
	run, err := inner.lookup(inner.args[0])
	if err != nil {
		p.fail("can't execute '%s': No such file or directory", inner.args[0])
		return exitNotFound
	}
	return inner.execute(ctx, run)
}
