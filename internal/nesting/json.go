package nesting

import "fmt"

// TooDeepError reports a document that is nested more than Max levels deep.
type TooDeepError struct{ Max int }

func (e *TooDeepError) Error() string {
	return fmt.Sprintf("it is nested more than %d levels deep", e.Max)
}

// JSON returns a *TooDeepError if objects and lists in data are nested more than limit
// levels deep. It does not check that data is JSON: brackets within strings do not
// count, and everything else is left to the parser.
func JSON(data []byte, limit int) error {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return &TooDeepError{limit}
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
