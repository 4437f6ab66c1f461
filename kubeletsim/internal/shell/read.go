package shell

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// reading has the arguments of read.
type reading struct {
	raw    bool
	array  string
	delim  byte
	limit  int
	fd     int
	prompt string
	names  []string
}

func (s *Shell) readFlags(args []string) (reading, bool) {
	r := reading{delim: '\n', limit: -1}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		flag := args[0]
		args = args[1:]
		if flag == "--" {
			break
		}
		for i := 1; i < len(flag); i++ {
			if flag[i] == 'r' || flag[i] == 's' || flag[i] == 'e' {
				r.raw = r.raw || flag[i] == 'r'
				continue
			}
			value := flag[i+1:]
			if value == "" {
				if len(args) == 0 {
					s.complain("read: option requires an argument -- %c", flag[i])
					return r, false
				}
				value, args = args[0], args[1:]
			}
			if !r.set(flag[i], value) {
				s.complain("read: illegal option -%c", flag[i])
				return r, false
			}
			break
		}
	}
	r.names = args
	return r, true
}

func (r *reading) set(flag byte, value string) bool {
	var err error
	switch flag {
	case 'a':
		r.array = value
	case 'd':
		if r.delim = 0; value != "" {
			r.delim = value[0]
		}
	case 'n', 'N':
		r.limit, err = strconv.Atoi(value)
	case 'u':
		r.fd, err = strconv.Atoi(value)
	case 'p':
		r.prompt = value
	case 't', 'i':
	default:
		return false
	}
	return err == nil
}

func readBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	r, ok := s.readFlags(args[1:])
	if !ok {
		return 2, nil
	}
	for _, name := range r.names {
		if !validName(name) {
			s.complain("read: %s: bad variable name", name)
			return 2, nil
		}
	}
	if r.prompt != "" {
		s.files[2].print(ctx, r.prompt)
	}
	line, ended, err := s.readLine(ctx, r)
	if err != nil {
		return 1, err
	}
	if err := s.assignRead(ctx, r, line); err != nil {
		return 1, err
	}
	return oneIf(!ended), nil
}

// readLine reads to the delimiter. What a backslash quotes is marked by one.
func (s *Shell) readLine(ctx context.Context, r reading) (line string, ended bool, err error) {
	in := s.files[r.fd].reader()
	if in == nil {
		return "", false, nil
	}
	var b strings.Builder
	var c [1]byte
	quoted := false
	for n := 0; r.limit < 0 || n < r.limit; n++ {
		if err := s.turn.Step(ctx); err != nil {
			return "", false, err
		}
		read, err := in.ReadContext(ctx, c[:])
		if read == 0 {
			if ctx.Err() != nil {
				return "", false, ctx.Err()
			}
			if err == nil || errors.Is(err, io.EOF) {
				return b.String(), false, nil
			}
			return b.String(), false, nil // an error of a file is its end
		}
		if err := s.hold(2); err != nil {
			return "", false, err
		}
		switch {
		case quoted:
			quoted = false
			if c[0] == '\n' {
				continue
			}
			b.WriteByte('\\')
			b.WriteByte(c[0])
		case c[0] == '\\' && !r.raw:
			quoted = true
		case c[0] == r.delim:
			return b.String(), true, nil
		case c[0] == 0:
		case c[0] == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteByte(c[0])
		}
	}
	return b.String(), true, nil
}

// assignRead splits a line by IFS and assigns its fields.
func (s *Shell) assignRead(ctx context.Context, r reading, line string) error {
	ifs := s.newExpansion(true).ifs
	if r.array != "" {
		fields := splitLine(line, ifs, -1)
		clause := &syntax.ArrayExpr{}
		for _, field := range fields {
			clause.Elems = append(clause.Elems, &syntax.ArrayElem{Value: &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: field}}}})
		}
		return s.assignArray(ctx, r.array, &syntax.Assign{Array: clause})
	}
	names := r.names
	if len(names) == 0 {
		return s.assign("REPLY", unmarked(line))
	}
	fields := splitLine(line, ifs, len(names))
	for i, name := range names {
		field := ""
		if i < len(fields) {
			field = fields[i]
		} else if unknown.In(line) {
			field = unknown.Text
		}
		if err := s.assign(name, field); err != nil {
			return err
		}
	}
	return nil
}

// splitLine splits a line of read into at most n fields; the last takes the rest.
func splitLine(line, ifs string, n int) []string {
	space := func(i int) bool {
		return strings.IndexByte(" \t\n", line[i]) >= 0 && strings.IndexByte(ifs, line[i]) >= 0
	}
	separates := func(i int) bool { return strings.IndexByte(ifs, line[i]) >= 0 }
	var fields []string
	i := 0
	for i < len(line) && space(i) {
		i++
	}
	for i < len(line) {
		if len(fields) == n-1 {
			return append(fields, lastField(line[i:], ifs))
		}
		from := i
		for i < len(line) && !separates(i) {
			if line[i] == '\\' {
				i++
			}
			i++
		}
		fields = append(fields, unmarked(line[from:min(i, len(line))]))
		for i < len(line) && space(i) {
			i++
		}
		if i < len(line) && separates(i) {
			for i++; i < len(line) && space(i); {
				i++
			}
		}
	}
	return fields
}

// lastField returns the rest of a line, without the separators at its end.
func lastField(rest, ifs string) string {
	end := len(rest)
	for end > 0 && strings.IndexByte(" \t\n", rest[end-1]) >= 0 && strings.IndexByte(ifs, rest[end-1]) >= 0 && (end < 2 || rest[end-2] != '\\') {
		end--
	}
	if end > 0 && strings.IndexByte(ifs, rest[end-1]) >= 0 && strings.IndexByte(" \t\n", rest[end-1]) < 0 && !strings.ContainsAny(rest[:end-1], ifs) && (end < 2 || rest[end-2] != '\\') {
		end--
	}
	return unmarked(rest[:end])
}

// unmarked removes the backslashes that mark quoted characters.
func unmarked(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func mapfileBuiltin(s *Shell, ctx context.Context, args []string) (int, error) {
	name, trim := "MAPFILE", false
	for _, arg := range args[1:] {
		switch {
		case arg == "-t":
			trim = true
		case !strings.HasPrefix(arg, "-"):
			name = arg
		}
	}
	in := s.files[0].reader()
	var data []byte
	if in != nil {
		var err error
		if data, err = s.readAll(ctx, in); err != nil {
			return 1, err
		}
	}
	elems, i, bytes := map[int]string{}, 0, int64(0)
	for line := range strings.Lines(string(data)) {
		if err := s.hold(variableBytes); err != nil {
			return 1, err
		}
		if trim {
			line = strings.TrimSuffix(line, "\n")
		}
		elems[i] = line
		i++
		bytes += int64(len(line)) + variableBytes
	}
	return 0, s.change(name, func(v *variable) { v.kind, v.elems, v.set, v.text = indexed, elems, true, "" }, bytes)
}

func getoptsBuiltin(s *Shell, _ context.Context, args []string) (int, error) {
	if len(args) < 3 {
		s.complain("getopts: usage: getopts optstring var [arg ...]")
		return 2, nil
	}
	spec, name, words := args[1], args[2], s.params
	if len(args) > 3 {
		words = args[3:]
	}
	index, within := s.optind, 0
	if index >= 1000 { // the place within a word of several flags
		index, within = index%1000, index/1000
	}
	index = max(index, 1)
	set := func(flag, value string, hasValue bool, next int) (int, error) {
		if hasValue {
			if err := s.assign("OPTARG", value); err != nil {
				return 1, err
			}
		} else if v := s.vars["OPTARG"]; v != nil {
			s.forget(v)
			delete(s.vars, "OPTARG")
		}
		if err := s.assign(name, flag); err != nil {
			return 1, err
		}
		if err := s.assign("OPTIND", strconv.Itoa(next%1000)); err != nil {
			return 1, err
		}
		s.optind = next
		return 0, nil
	}
	if index > len(words) || len(words[index-1]) < 2 || words[index-1][0] != '-' || words[index-1] == "--" {
		if index <= len(words) && words[index-1] == "--" {
			index++
		}
		_, err := set("?", "", false, index)
		return 1, err
	}
	word := words[index-1]
	within = max(within, 1)
	flag := string(word[within])
	next := index + (within+1)*1000
	if within+1 >= len(word) {
		next = index + 1
	}
	quiet := strings.HasPrefix(spec, ":")
	at := strings.Index(spec, flag)
	switch {
	case at < 0 || flag == ":":
		if !quiet {
			s.complain("Illegal option -%s", flag)
		}
		return set("?", flag, quiet, next)
	case at+1 < len(spec) && spec[at+1] == ':':
		if within+1 < len(word) {
			return set(flag, word[within+1:], true, index+1)
		}
		if index < len(words) {
			return set(flag, words[index], true, index+2)
		}
		if quiet {
			return set(":", flag, true, index+1)
		}
		s.complain("No arg for -%s option", flag)
		return set("?", "", false, index+1)
	}
	return set(flag, "", false, next)
}

// choose executes select.
func (s *Shell) choose(ctx context.Context, name string, items []string, body []*syntax.Stmt) error {
	for {
		if err := s.turn.Step(ctx); err != nil {
			return err
		}
		for i, item := range items {
			s.files[2].print(ctx, strconv.Itoa(i+1)+") "+item+"\n")
		}
		prompt, set := s.vars["PS3"].single()
		if !set {
			prompt = "#? "
		}
		s.files[2].print(ctx, prompt)
		line, ended, err := s.readLine(ctx, reading{delim: '\n', limit: -1})
		if err != nil {
			return err
		}
		if !ended && line == "" {
			s.status = 1
			return nil
		}
		chosen := ""
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n > 0 && n <= len(items) {
			chosen = items[n-1]
		}
		if err := s.assign("REPLY", line); err != nil {
			return err
		}
		if err := s.assign(name, chosen); err != nil {
			return err
		}
		if done, err := s.round(ctx, body); done || err != nil {
			return err
		}
	}
}
