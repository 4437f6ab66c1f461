package servers

import (
	"errors"
	"strings"
)

// piece is a part of a text: a literal, or an expression.
type piece struct {
	text         string
	isExpression bool
}

var errOpen = errors.New("${ has no matching }")

// split splits a text into literals and the expressions between ${ and }. $${ is a literal ${.
func split(text string) ([]piece, error) {
	var pieces []piece
	literal := strings.Builder{}
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			break
		}
		if at > 0 && text[at-1] == '$' {
			literal.WriteString(text[:at-1] + "${")
			text = text[at+2:]
			continue
		}
		literal.WriteString(text[:at])
		end := closing(text[at+2:])
		if end < 0 {
			return nil, errOpen
		}
		if literal.Len() > 0 {
			pieces = append(pieces, piece{text: literal.String()})
			literal.Reset()
		}
		pieces = append(pieces, piece{text: text[at+2 : at+2+end], isExpression: true})
		text = text[at+3+end:]
	}
	literal.WriteString(text)
	if literal.Len() > 0 || len(pieces) == 0 {
		pieces = append(pieces, piece{text: literal.String()})
	}
	return pieces, nil
}

// closing returns where the brace is that closes an expression; negative if there is none. Braces in literals of CEL do not count.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		case '"', '\'':
			length := quoted(text[i:], isRaw(text[:i]))
			if length < 0 {
				return -1
			}
			i += length - 1
		}
	}
	return -1
}

// isRaw reports whether a text ends with the prefix of a raw string literal.
func isRaw(before string) bool {
	prefix := before[len(before)-min(len(before), 2):]
	return strings.HasSuffix(strings.ToLower(prefix), "r") || strings.EqualFold(prefix, "rb")
}

// quoted returns the length of the string literal at the beginning of a text; negative if it does not end.
func quoted(text string, raw bool) int {
	quote := text[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text, triple) {
		quote = triple
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		}
	}
	return -1
}
