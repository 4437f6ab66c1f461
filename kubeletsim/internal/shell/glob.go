package shell

import (
	"context"
	"path"
	"slices"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// glob expands the patterns of a field to the names of files. Without any that matches, the field is its
// own result.
func (s *Shell) glob(ctx context.Context, field []piece) ([]string, error) {
	if s.options["noglob"] || !slices.ContainsFunc(field, special) {
		return []string{joined(field)}, nil
	}
	pattern := patternOf(field)
	found := []string{""}
	if strings.HasPrefix(pattern, "/") {
		found = []string{"/"}
	}
	parts := strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
	for i, part := range parts {
		var err error
		if found, err = s.descend(ctx, found, part, i < len(parts)-1); err != nil {
			return nil, err
		}
	}
	if strings.HasSuffix(pattern, "/") {
		for i := range found {
			found[i] += "/"
		}
	}
	if len(found) == 0 {
		if name, may := s.mayMatch(field, unquotePattern(pattern)); may {
			return []string{name}, nil
		}
		if s.options["nullglob"] {
			return nil, nil
		}
		return []string{joined(field)}, nil
	}
	slices.Sort(found)
	return found, nil
}

// mayMatchIn reports whether a directory in which no file that is known matches may have others: its entries are not all
// known, or a program of which nothing is known has run, which often fills a volume that its arguments do not name.
func (s *Shell) mayMatchIn(dir string) bool {
	if s.Container.Partial(dir) {
		return true
	}
	return s.isDir(dir) && s.Container.Changing()
}

// mayMatch reports whether a pattern that matches no known file may match one that is not known, and returns its name: the
// directory as it is written, and unknown text. text is the pattern without quotes. A pattern that scripts use for other things
// than files more often than not is plain text: an address, an option, a parameter, a message such as "[INFO] ready?".
func (s *Shell) mayMatch(field []piece, text string) (name string, may bool) {
	var wild strings.Builder
	for _, p := range field {
		if !p.quoted {
			wild.WriteString(p.text)
		}
	}
	if !matchesSeveral(wild.String()) {
		return "", false
	}
	trimmed := strings.TrimRight(text, "/")
	end := strings.LastIndex(trimmed, "/") + 1
	written := trimmed[:end]
	dir := s.absolute(written)
	if strings.ContainsAny(written, "*?[") || isAddress(text) || !s.mayMatchIn(dir) {
		return "", false
	}
	if !path.IsAbs(text) {
		first, _, _ := strings.Cut(text, "/")
		if strings.HasPrefix(first, "-") || strings.ContainsAny(first, ":=&") {
			return "", false
		}
		before, rest, _ := strings.Cut(wild.String(), "[")
		_, after, _ := strings.Cut(rest, "]")
		if !strings.Contains(before+after, "*") && (written == "" || dir != s.absolute("") && !s.isDir(dir)) {
			return "", false
		}
	}
	return written + unknown.Text + text[len(trimmed):], true
}

// isAddress reports whether a word is a URL, or a path with a query.
func isAddress(word string) bool {
	_, query, _ := strings.Cut(word, "?")
	return strings.Contains(word, "://") || strings.ContainsAny(query, "=&")
}

func (s *Shell) isDir(name string) bool {
	info, err := s.Container.Stat(name)
	return err == nil && info.IsDir()
}

// matchesSeveral reports whether the unquoted text of a pattern may match more than itself. The command [ does not.
func matchesSeveral(wild string) bool {
	_, rest, bracket := strings.Cut(wild, "[")
	return strings.ContainsAny(wild, "*?") || bracket && strings.Contains(rest, "]")
}

func special(p piece) bool { return !p.quoted && strings.ContainsAny(p.text, "*?[") }

// descend returns the files in directories whose names match.
func (s *Shell) descend(ctx context.Context, dirs []string, part string, inner bool) ([]string, error) {
	p, err := s.compile(part)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, dir := range dirs {
		if err := s.turn.Step(ctx); err != nil {
			return nil, err
		}
		if !strings.ContainsAny(part, "*?[(") {
			name := dir + unquotePattern(part)
			if _, err := s.Container.Lstat(s.absolute(name)); err == nil {
				found = append(found, withSlash(name, inner))
			}
			continue
		}
		names, err := s.matchingIn(ctx, dir, p, strings.HasPrefix(part, "."))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			full := dir + name
			if inner {
				if info, err := s.Container.Stat(s.absolute(full)); err != nil || !info.IsDir() {
					continue
				}
			}
			if err := s.hold(len(full) + pieceBytes); err != nil {
				return nil, err
			}
			found = append(found, withSlash(full, inner))
		}
	}
	return found, nil
}

func withSlash(name string, inner bool) string {
	if inner {
		return name + "/"
	}
	return name
}

func (s *Shell) matchingIn(ctx context.Context, dir string, p *Pattern, hidden bool) ([]string, error) {
	entries, err := s.Container.ReadDir(s.absolute(path.Clean("./" + dir)))
	if strings.HasPrefix(dir, "/") {
		entries, err = s.Container.ReadDir(path.Clean(dir))
	}
	if err != nil {
		return nil, nil // there is nothing to be matched
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") && !hidden && !s.options["dotglob"] {
			continue
		}
		matched, err := p.Match(ctx, entry.Name())
		if err != nil {
			return nil, err
		}
		if matched {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// unquotePattern returns the text of a pattern without special characters.
func unquotePattern(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}
