package awk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The kinds of tokens. Operators and keywords are their own text.
const (
	end = iota
	newline
	number
	text
	pattern
	name
	function // a name that a parenthesis follows at once
	operator
	keyword
)

type token struct {
	kind   int
	text   string
	number float64
}

// lexer cuts a program into tokens. A slash begins a regular expression where the parser expects an operand.
type lexer struct {
	source string
	at     int
}

func keywords() []string {
	return []string{"BEGIN", "END", "break", "continue", "delete", "do", "else", "exit", "for", "func", "function", "getline", "if", "in", "next", "nextfile", "print", "printf", "return", "while"}
}

func operators() []string {
	return []string{
		"**=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "==", "<=", ">=", "!=", "!~", ">>", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|",
		"?", ":", "~", "$", "=",
	}
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func (l *lexer) next() token {
	l.skip()
	rest := l.source[l.at:]
	switch {
	case rest == "":
		return token{kind: end, text: "end of the program"}
	case rest[0] == '\n':
		l.at++
		return token{kind: newline, text: "newline"}
	case rest[0] == '"':
		return l.quoted('"', text)
	case digit(rest[0]) || rest[0] == '.' && len(rest) > 1 && digit(rest[1]):
		n := numberPrefix(rest)
		value, _ := strconv.ParseFloat(rest[:n], 64)
		l.at += n
		return token{kind: number, text: rest[:n], number: value}
	case letter(rest[0]):
		n := 1
		for n < len(rest) && (letter(rest[n]) || digit(rest[n])) {
			n++
		}
		l.at += n
		switch word := rest[:n]; {
		case slices.Contains(keywords(), word):
			return token{kind: keyword, text: word}
		case n < len(rest) && rest[n] == '(':
			return token{kind: function, text: word}
		default:
			return token{kind: name, text: word}
		}
	}
	for _, op := range operators() {
		if strings.HasPrefix(rest, op) {
			l.at += len(op)
			switch op {
			case "**":
				op = "^"
			case "**=":
				op = "^="
			}
			return token{kind: operator, text: op}
		}
	}
	panic(&SyntaxError{fmt.Sprintf("unexpected character %q", rest[:1])})
}

// skip skips blanks, comments and escaped ends of lines.
func (l *lexer) skip() {
	for l.at < len(l.source) {
		switch c := l.source[l.at]; {
		case c == ' ' || c == '\t' || c == '\r':
			l.at++
		case c == '\\' && strings.HasPrefix(l.source[l.at+1:], "\n"):
			l.at += 2
		case c == '#':
			if i := strings.IndexByte(l.source[l.at:], '\n'); i >= 0 {
				l.at += i
			} else {
				l.at = len(l.source)
			}
		default:
			return
		}
	}
}

// regexp reads a regular expression after its slash, or after /= has been read for an operator.
func (l *lexer) regexp(op string) token {
	l.at -= len(op)
	return l.quoted('/', pattern)
}

// quoted reads a string or a regular expression, whose escapes are left to the regular expression.
func (l *lexer) quoted(quote byte, kind int) token {
	var b strings.Builder
	class := false
	for l.at++; l.at < len(l.source); l.at++ {
		c := l.source[l.at]
		switch {
		case c == quote && !class:
			l.at++
			return token{kind: kind, text: b.String()}
		case c == '\n':
			panic(&SyntaxError{"unterminated string or regular expression"})
		case c == '\\' && l.at+1 < len(l.source):
			l.at++
			if kind == pattern {
				if l.source[l.at] != '/' {
					b.WriteByte('\\')
				}
				b.WriteByte(l.source[l.at])
				continue
			}
			char, used := unescape(l.source[l.at:])
			b.WriteString(char)
			l.at += used - 1
		default:
			if kind == pattern && c == '[' && !class {
				class = strings.IndexByte(l.source[l.at:], ']') > 0
				if rest := strings.TrimPrefix(l.source[l.at+1:], "^"); strings.HasPrefix(rest, "]") {
					n := len(l.source[l.at:]) - len(rest) + 1
					b.WriteString(l.source[l.at : l.at+n])
					l.at += n - 1
					continue
				}
			} else if kind == pattern && c == '[' && strings.HasPrefix(l.source[l.at:], "[:") {
				if i := strings.Index(l.source[l.at:], ":]"); i > 0 {
					b.WriteString(l.source[l.at : l.at+i+2])
					l.at += i + 1
					continue
				}
			} else if c == ']' {
				class = false
			}
			b.WriteByte(c)
		}
	}
	panic(&SyntaxError{"unterminated string or regular expression"})
}

// unescape returns the text of an escape sequence, and the number of bytes after the backslash that
// it takes.
func unescape(rest string) (char string, used int) {
	switch c := rest[0]; {
	case strings.IndexByte(`"\/`, c) >= 0:
		return rest[:1], 1
	case strings.IndexByte("abfnrtv", c) >= 0:
		return string("\a\b\f\n\r\t\v"[strings.IndexByte("abfnrtv", c)]), 1
	case c == '\n':
		return "", 1
	case c >= '0' && c <= '7':
		n := 1
		for n < 3 && n < len(rest) && rest[n] >= '0' && rest[n] <= '7' {
			n++
		}
		code, _ := strconv.ParseUint(rest[:n], 8, 16)
		return string([]byte{byte(code)}), n
	}
	return `\` + rest[:1], 1
}

// numberPrefix returns the length of the number that a text begins with.
func numberPrefix(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits := 0
	for ; i < len(s) && digit(s[i]); i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && digit(s[i]); i++ {
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && digit(s[j]) {
			for i = j; i < len(s) && digit(s[i]); i++ {
				continue
			}
		}
	}
	return i
}
