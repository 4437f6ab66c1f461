package applets

import (
	"path"
	"strings"
)

// FileServer returns the arguments of Python's module http.server if a command runs it, and whether the interpreter writes its output at
// once (-u). It is the only Python that package box implements.
func FileServer(words []string) (args []string, unbuffered, ok bool) {
	if len(words) == 0 || !IsPython(path.Base(words[0])) {
		return nil, false, false
	}
	for rest := words[1:]; len(rest) > 0; {
		word := rest[0]
		rest = rest[1:]
		if len(word) < 2 || word[0] != '-' {
			return nil, false, false
		}
		for i := 1; i < len(word); i++ {
			switch c := word[i]; {
			case c == 'u':
				unbuffered = true
			case strings.IndexByte("bBdEIOPqsSvx", c) >= 0:
			case c != 'm' && c != 'W' && c != 'X':
				return nil, false, false
			default:
				value := word[i+1:]
				if value == "" && len(rest) > 0 {
					value, rest = rest[0], rest[1:]
				}
				if c == 'm' {
					return rest, unbuffered, value == "http.server"
				}
				i = len(word)
			}
		}
	}
	return nil, false, false
}

// IsPython reports whether a name is an interpreter of Python 3.
func IsPython(name string) bool {
	version, is := strings.CutPrefix(name, "python")
	return is && (version == "" || version == "3" || strings.HasPrefix(version, "3.") && strings.Trim(version[2:], "0123456789") == "")
}

// Runs reports whether box implements the program of a command.
func Runs(words []string) bool {
	_, _, serves := FileServer(words)
	return serves || len(words) > 0 && Has(path.Base(words[0]))
}
